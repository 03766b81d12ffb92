/**
 * Writes `docs/api/<name>.md` for every door in `src/library/`, from its doc comments and types:
 *
 *   npm run api
 *
 * `test/docs/api.test.ts` compares the committed pages with what this script makes of the sources.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript-5";
import { type Door, importName, readDoors } from "./library-doors.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The text of each page by its path from the project's folder. Throws if a name has no doc comment. */
export function apiPages(): Map<string, string> {
	const doors = readDoors();
	const program = ts.createProgram(
		doors.map(({ file }) => file),
		compilerOptions(),
	);
	const checker = program.getTypeChecker();
	const exported = doors.map((door) => ({ door, names: namesOf(door, program, checker) }));
	const owners = new Map(
		exported.flatMap(({ door, names }) => names.map(({ symbol }) => [symbol, door] as const)),
	);
	return new Map(
		exported.map(({ door, names }) => {
			const page = new Page(checker, names, owners);
			return [`docs/api/${door.name}.md`, page.text(door)];
		}),
	);
}

function compilerOptions(): ts.CompilerOptions {
	const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
	const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
	return { ...options, noEmit: true, incremental: false };
}

/** One exported name, and the symbol that it stands for. */
interface Name {
	readonly name: string;
	readonly symbol: ts.Symbol;
}

function namesOf({ file }: Door, program: ts.Program, checker: ts.TypeChecker): Name[] {
	const source = program.getSourceFile(file);
	const module = source && checker.getSymbolAtLocation(source);
	if (!module) throw new Error(`${file} exports nothing`);
	return checker.getExportsOfModule(module).map((symbol) => ({
		name: symbol.name,
		symbol: symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol,
	}));
}

/** The sections of a page, in order. */
const SECTIONS = ["Functions", "Classes", "Constants", "Types"] as const;

type Section = (typeof SECTIONS)[number];

/** One page. Writing a name may mention further types, which the page explains at its end. */
class Page {
	readonly #checker: ts.TypeChecker;
	readonly #names: readonly Name[];
	readonly #publicNames: ReadonlyMap<ts.Symbol, string>;
	readonly #owners: ReadonlyMap<ts.Symbol, Door>;
	/** Exported unions by their type, which the checker would spell out. */
	readonly #unions: ReadonlyMap<ts.Type, string>;
	/** Public names by those at the definition, where the two differ. */
	readonly #renamed: ReadonlyMap<string, string>;
	/** Types that signatures mention and the door does not export; some only in part. */
	readonly #mentioned = new Map<ts.Symbol, Members>();

	constructor(
		checker: ts.TypeChecker,
		names: readonly Name[],
		owners: ReadonlyMap<ts.Symbol, Door>,
	) {
		this.#checker = checker;
		this.#names = names;
		this.#publicNames = new Map(names.map(({ name, symbol }) => [symbol, name]));
		this.#owners = owners;
		const unions = [...owners.keys()]
			.filter(({ flags }) => flags & ts.SymbolFlags.TypeAlias)
			.map((symbol) => [checker.getDeclaredTypeOfSymbol(symbol), symbol.name] as const);
		this.#unions = new Map(unions.filter(([type]) => type.isUnion()));
		const pairs = names.map(({ name, symbol }) => [symbol.name, name] as const);
		this.#renamed = new Map(pairs.filter(([before, now]) => before !== now));
	}

	text(door: Door): string {
		const sorted = this.#names.toSorted((a, b) => a.name.localeCompare(b.name, "en"));
		const grouped = Map.groupBy(sorted, ({ symbol }) => sectionOf(symbol));
		const ordered = SECTIONS.flatMap((section) => grouped.get(section) ?? []);
		const links = ordered.map(({ name }) => `[${name}](#${name.toLowerCase()})`);
		return [
			`# ${importName(door)}`,
			`<!-- Written by \`npm run api\` from src/library/${basename(door.file)}. -->`,
			door.contract,
			...(links.length > 1 ? [`Names: ${links.join(", ")}.`] : []),
			door.examples.length > 1 ? "## Examples" : "## Example",
			...door.examples.flatMap(({ intro, code }) => [intro, fenced(code)]),
			...SECTIONS.flatMap((section) => {
				const names = grouped.get(section) ?? [];
				return names.length === 0 ? [] : [`## ${section}`, ...names.flatMap((n) => this.#entry(n))];
			}),
			...this.#mentionedTypes(),
		]
			.join("\n\n")
			.concat("\n");
	}

	#entry({ name, symbol }: Name): string[] {
		const doc = this.#docOf(symbol);
		if (doc === "") throw new Error(`${name} has no doc comment at its definition`);
		return [`### ${name}`, ...this.#definition(name, symbol, doc)];
	}

	/** Grows while it is written: a type may mention others. */
	#mentionedTypes(): string[] {
		const lines: string[] = [];
		const elsewhere = new Map<Door, string[]>();
		for (const [symbol, members] of this.#mentioned) {
			const owner = this.#owners.get(symbol);
			if (owner) elsewhere.set(owner, [...(elsewhere.get(owner) ?? []), `\`${symbol.name}\``]);
			else {
				const doc = this.#docOf(symbol);
				lines.push(`### ${symbol.name}`, ...this.#definition(symbol.name, symbol, doc, members));
			}
		}
		if (lines.length === 0 && elsewhere.size === 0) return [];
		const links = Array.from(
			elsewhere,
			([door, names]) => `[${importName(door)}](${door.name}.md) exports ${names.join(", ")}.`,
		);
		const intro = "Signatures above mention these types. This door does not export them by name.";
		return ["## Other types", [intro, ...links].join(" "), ...lines];
	}

	#definition(name: string, symbol: ts.Symbol, doc: string, only: Members = EVERYTHING): string[] {
		const declaration = declarationOf(symbol);
		const parts = (signature: string, members: readonly string[] = []) => [
			...(signature === "" ? [] : [fenced(signature)]),
			...(doc === "" ? [] : [doc]),
			...(members.length === 0 ? [] : [members.join("\n")]),
		];
		if (ts.isFunctionDeclaration(declaration)) {
			const { signature, members } = this.#functionOf(name, declaration);
			return parts(signature, members);
		}
		if (ts.isClassDeclaration(declaration) || ts.isInterfaceDeclaration(declaration)) {
			return parts(this.#headOf(declaration, name), this.#membersOf(declaration, only));
		}
		if (ts.isTypeAliasDeclaration(declaration)) {
			const { signature, members } = this.#aliasOf(name, declaration);
			return parts(signature, members);
		}
		const type = this.#checker.getTypeOfSymbolAtLocation(symbol, declaration);
		if (type.isStringLiteral()) return parts(`const ${name}: string`);
		const given = ts.isVariableDeclaration(declaration) ? declaration.type : undefined;
		if (given) return parts(`const ${name}: ${this.#inline(given)}`);
		return parts(`const ${name}`, this.#propertiesOf(type, declaration));
	}

	#functionOf(name: string, declaration: ts.FunctionDeclaration) {
		const parameters = declaration.parameters.map((one) => this.#parameter(one));
		const head = `${name === "default" ? (declaration.name?.text ?? name) : name}${this.#generics(declaration)}`;
		const { type: given } = declaration;
		if (given) {
			return { signature: call(head, parameters, `: ${this.#inline(given)}`), members: [] };
		}
		const signature = this.#checker.getSignatureFromDeclaration(declaration);
		const result = signature && this.#checker.getReturnTypeOfSignature(signature);
		if (!result) throw new Error(`${name} returns nothing that can be named`);
		// An object without a name: its members are what the caller gets.
		const isObject = this.#checker.getPropertiesOfType(result).length > 0 && !result.aliasSymbol;
		const isNamed = result.symbol && !(result.symbol.flags & ts.SymbolFlags.ObjectLiteral);
		if (!isObject || isNamed) {
			return { signature: call(head, parameters, `: ${this.#typeText(result)}`), members: [] };
		}
		return {
			signature: call(head, parameters, ""),
			members: ["It returns an object with:", "", ...this.#propertiesOf(result, declaration)],
		};
	}

	#parameter(parameter: ts.ParameterDeclaration): string {
		const { name, type, initializer, questionToken, dotDotDotToken } = parameter;
		const shown = ts.isIdentifier(name) ? name.text : "options";
		const mark = initializer || questionToken ? "?" : "";
		const text = type
			? this.#inline(type)
			: this.#typeText(this.#checker.getTypeAtLocation(parameter));
		return `${dotDotDotToken ? "..." : ""}${shown}${mark}: ${text}`;
	}

	/** Empty if it says no more than the heading. */
	#headOf(declaration: ts.ClassDeclaration | ts.InterfaceDeclaration, name: string): string {
		const kind = ts.isClassDeclaration(declaration) ? "class" : "interface";
		const generics = this.#generics(declaration);
		// Members of our own base types are listed; those of the platform are known.
		const bases = (declaration.heritageClauses ?? [])
			.flatMap(({ types }) => [...types])
			.filter((base) => this.#isForeign(base))
			.map((base) => base.getText());
		if (generics === "" && bases.length === 0) return "";
		return `${kind} ${name}${generics}${bases.length > 0 ? ` extends ${bases.join(", ")}` : ""}`;
	}

	#generics({
		typeParameters = [],
	}: {
		typeParameters?: Iterable<ts.TypeParameterDeclaration> | undefined;
	}): string {
		const all = Array.from(typeParameters, (one) => this.#inline(one));
		return all.length === 0 ? "" : `<${all.join(", ")}>`;
	}

	#isForeign(base: ts.ExpressionWithTypeArguments): boolean {
		const symbol = this.#resolved(base.expression);
		return !(symbol && isOurs(symbol)) && !UTILITY_TYPES.has(base.expression.getText());
	}

	#membersOf(declaration: ts.ClassDeclaration | ts.InterfaceDeclaration, only: Members): string[] {
		const type = this.#checker.getTypeAtLocation(declaration);
		const own = declaration.members
			.filter(ts.isConstructorDeclaration)
			.find((one) => !isPrivate(one));
		const parameters = own?.parameters.map((one) => this.#parameter(one)).join(", ");
		return [
			...(parameters === undefined ? [] : [`- \`new (${parameters})\``]),
			...this.#propertiesOf(type, declaration, only),
		];
	}

	#propertiesOf(type: ts.Type, at: ts.Node, only: Members = EVERYTHING): string[] {
		return this.#checker
			.getPropertiesOfType(type)
			.filter((property) => !isHidden(property) && only.has(property.name))
			.sort(byDeclaration(at))
			.map((property) => {
				const doc = this.#docOf(property);
				return `- \`${this.#property(property, at)}\`${doc === "" ? "" : `: ${doc}`}`;
			});
	}

	#property(property: ts.Symbol, at: ts.Node): string {
		const declaration = property.declarations?.[0];
		const mark = property.flags & ts.SymbolFlags.Optional ? "?" : "";
		if (declaration && (ts.isMethodSignature(declaration) || ts.isMethodDeclaration(declaration))) {
			const parameters = declaration.parameters.map((one) => this.#parameter(one));
			const result = declaration.type
				? this.#inline(declaration.type)
				: this.#typeText(this.#resultOf(declaration));
			const head = `${property.name}${mark}${this.#generics(declaration)}`;
			return `${head}(${parameters.join(", ")}): ${result}`;
		}
		const type = this.#checker.getTypeOfSymbolAtLocation(property, at);
		const { type: given } = (declaration ?? {}) as { type?: ts.TypeNode };
		// A mapped type may have made another type of it.
		const isAsWritten = given && this.#isSame(type, this.#checker.getTypeFromTypeNode(given));
		const shown = isAsWritten ? this.#inline(given) : this.#typeText(this.#present(type, mark));
		return `${property.name}${mark}: ${shown}`;
	}

	#isSame(a: ts.Type, b: ts.Type): boolean {
		return this.#checker.getNonNullableType(a) === this.#checker.getNonNullableType(b);
	}

	/** Without the `undefined` of an optional property. */
	#present(type: ts.Type, mark: string): ts.Type {
		return mark === "?" ? this.#checker.getNonNullableType(type) : type;
	}

	#resultOf(declaration: ts.SignatureDeclaration): ts.Type {
		const signature = this.#checker.getSignatureFromDeclaration(declaration);
		if (!signature) throw new Error(`${declaration.getText()} has no signature`);
		return this.#checker.getReturnTypeOfSignature(signature);
	}

	/** The source, unless that is only how the type is derived: then its values or its members. */
	#aliasOf(name: string, declaration: ts.TypeAliasDeclaration) {
		const generics = this.#generics(declaration);
		const head = `type ${name}${generics}`;
		if (!/\bStatic<|^keyof |\[\w+ in |\btypeof /.test(declaration.type.getText())) {
			const source = this.#source(declaration.type);
			const isList = source.startsWith("|");
			return { signature: `${head} =${isList ? "\n\t" : " "}${source}` };
		}
		if (generics !== "") return { signature: head };
		const type = this.#checker.getTypeAtLocation(declaration);
		if (!type.isUnion()) {
			const isObject = !declaration.type.getText().includes(" in ");
			return { signature: "", members: isObject ? this.#propertiesOf(type, declaration) : [] };
		}
		const values = type.types.map((one) =>
			one.isStringLiteral() ? this.#typeText(one) : this.#discriminant(one, declaration),
		);
		return { signature: unionOf(head, [...new Set(values)].sort()) };
	}

	#discriminant(variant: ts.Type, at: ts.Node): string {
		const type = variant.getProperty("type");
		if (!type) throw new Error(`${this.#typeText(variant)} has no \`type\` that tells it apart`);
		const value = this.#checker.getTypeOfSymbolAtLocation(type, at);
		return `{ type: ${this.#typeText(value)}; … }`;
	}

	#typeText(type: ts.Type): string {
		const name = this.#unions.get(type);
		if (name !== undefined) return name;
		const { NoTruncation, UseAliasDefinedOutsideCurrentScope } = ts.TypeFormatFlags;
		const flags = NoTruncation | UseAliasDefinedOutsideCurrentScope;
		const text = oneLine(this.#checker.typeToString(type, undefined, flags));
		return text.replaceAll(/\b[A-Z]\w*\b/g, (word) => this.#renamed.get(word) ?? word);
	}

	/** On one line and without comments, as in a list. */
	#inline(node: ts.Node): string {
		return oneLine(this.#source(node));
	}

	/** The text of a node with public names in it. Notes the types that it mentions. */
	#source(node: ts.Node): string {
		const start = node.getStart();
		let text = "";
		let at = start;
		const whole = node.getSourceFile().text;
		const visit = (inner: ts.Node, only: Members) => {
			if (!ts.isIdentifier(inner)) {
				const picked = pickedFrom(inner);
				ts.forEachChild(inner, (child) => visit(child, picked ?? only));
				return;
			}
			const symbol = this.#resolved(inner);
			const name = symbol && this.#publicNames.get(symbol);
			if (symbol && name === undefined) this.#mention(symbol, only);
			text += whole.slice(at, inner.getStart()) + (name ?? inner.text);
			at = inner.getEnd();
		};
		visit(node, EVERYTHING);
		return text + whole.slice(at, node.getEnd());
	}

	#mention(symbol: ts.Symbol, only: Members): void {
		const isType = symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias);
		if (!isType || !isOurs(symbol)) return;
		if (only === EVERYTHING || !this.#mentioned.has(symbol)) this.#mentioned.set(symbol, only);
	}

	#resolved(node: ts.Node): ts.Symbol | undefined {
		const symbol = this.#checker.getSymbolAtLocation(node);
		return symbol && symbol.flags & ts.SymbolFlags.Alias
			? this.#checker.getAliasedSymbol(symbol)
			: symbol;
	}

	#docOf(symbol: ts.Symbol): string {
		const [declaration] = symbol.declarations ?? [];
		const named =
			declaration && ts.isShorthandPropertyAssignment(declaration)
				? this.#checker.getShorthandAssignmentValueSymbol(declaration)
				: symbol;
		const text = ts.displayPartsToString(named?.getDocumentationComment(this.#checker));
		return text.replaceAll(/\{@link (\w+)\s*\}/g, "`$1`").replaceAll(/\s*\n\s*/g, " ");
	}
}

/** Some members of a type, by their names. */
type Members = Pick<ReadonlySet<string>, "has">;

const EVERYTHING: Members = { has: () => true };

/** The members that `Pick<Type, "a" | "b">` takes. */
function pickedFrom(node: ts.Node): Set<string> | undefined {
	if (!ts.isTypeReferenceNode(node) || node.typeName.getText() !== "Pick") return undefined;
	const keys = node.typeArguments?.[1]?.getText() ?? "";
	return new Set([...keys.matchAll(/"(\w+)"/g)].map(([, key = ""]) => key));
}

/** Heritage through these is resolved: the members are listed. */
const UTILITY_TYPES = new Set(["Omit", "Partial", "Pick"]);

function sectionOf(symbol: ts.Symbol): Section {
	const declaration = declarationOf(symbol);
	if (ts.isFunctionDeclaration(declaration)) return "Functions";
	if (ts.isClassDeclaration(declaration)) return "Classes";
	return ts.isVariableDeclaration(declaration) ? "Constants" : "Types";
}

/** A schema and the type of the same name are exported as a type. */
function declarationOf(symbol: ts.Symbol): ts.Declaration {
	const all = symbol.declarations ?? [];
	const type = all.find((one) => ts.isTypeAliasDeclaration(one) || ts.isInterfaceDeclaration(one));
	const declaration = type ?? all[0];
	if (!declaration) throw new Error(`${symbol.name} has no declaration`);
	return declaration;
}

function isOurs(symbol: ts.Symbol): boolean {
	const file = symbol.declarations?.[0]?.getSourceFile().fileName;
	return file?.startsWith(join(root, "src").replaceAll("\\", "/")) === true;
}

/** Private, or a member that the platform's own base class has. */
function isHidden(property: ts.Symbol): boolean {
	const declaration = property.declarations?.[0];
	if (!declaration) return false;
	const isInternal = property.name.startsWith("#") || isPrivate(declaration);
	return isInternal || declaration.getSourceFile().fileName.includes("/node_modules/");
}

function isPrivate(declaration: ts.Declaration): boolean {
	return (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Private) !== 0;
}

/**
 * The order of the sources, own members first: the checker's order of derived members depends on
 * what it saw before.
 */
function byDeclaration(owner: ts.Node): (a: ts.Symbol, b: ts.Symbol) => number {
	const keyOf = ({ name, declarations: [first] = [] }: ts.Symbol) => {
		const at = first?.getStart() ?? 0;
		const file = first?.getSourceFile();
		const isOwn = file === owner.getSourceFile() && owner.pos <= at && at < owner.end;
		return [isOwn ? 0 : 1, file?.fileName ?? "", at, name] as const;
	};
	return (a, b) => {
		const [left, right] = [keyOf(a), keyOf(b)];
		const differs = left.findIndex((part, index) => part !== right[index]);
		return differs === -1 || (left[differs] ?? 0) < (right[differs] ?? 0) ? -1 : 1;
	};
}

const LINE_WIDTH = 90;

function call(head: string, parameters: readonly string[], result: string): string {
	const line = `${head}(${parameters.join(", ")})${result}`;
	if (line.length <= LINE_WIDTH) return line;
	return `${head}(\n${parameters.map((one) => `\t${one},\n`).join("")})${result}`;
}

/** As many of its parts on a line as fit. */
function unionOf(head: string, values: readonly string[]): string {
	const short = `${head} = ${values.join(" | ")}`;
	if (short.length <= LINE_WIDTH) return short;
	const lines: string[] = [];
	for (const value of values) {
		const line = lines.at(-1);
		const longer = `${line} | ${value}`;
		if (line !== undefined && longer.length <= LINE_WIDTH) lines[lines.length - 1] = longer;
		else lines.push(`| ${value}`);
	}
	return `${head} =${lines.map((line) => `\n\t${line}`).join("")}`;
}

function fenced(code: string): string {
	return `\`\`\`ts\n${code}\n\`\`\``;
}

function oneLine(text: string): string {
	return (
		text
			.replaceAll(/\/\*\*.*?\*\//gs, "")
			.replaceAll(/\s+/g, " ")
			// Says nothing to a caller, who reads.
			.replaceAll(/readonly (?=\w+\??:)/g, "")
			.replaceAll(/(^|: )\| /g, "$1")
			.replaceAll(/,? \)/g, ")")
			.replaceAll(/[,;] \}/g, " }")
			.replaceAll(" >", ">")
			.replaceAll(/([(<]) /g, "$1")
			.trim()
	);
}

if (import.meta.main) {
	for (const [path, text] of apiPages()) {
		const file = join(root, path);
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, text);
	}
}
