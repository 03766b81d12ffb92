import type { Node } from "./ast.ts";

/** Signatures and doc sentences are cut at this many characters. */
const MAX_LENGTH = 200;

/** The head of a declaration on one line: all of `start` to `end`, comments and line breaks taken out. */
export function headOf(source: string, start: number, end: number): string {
	// More than this is cut anyway; comments may take some of it.
	const text = source.slice(start, Math.min(end, start + 4 * MAX_LENGTH));
	const plain = text.includes("/*") || text.includes("//") ? withoutComments(text) : text;
	return cut(
		plain
			.replace(/\s+/g, " ")
			.replace(/([([{<]) | ([)\]}>,;])/g, "$1$2")
			.replace(/,([)\]}>])/g, "$1")
			.replace(/[\s={;,]+$/, "")
			.trim(),
	);
}

/** Where the head of a declaration ends: at its body, or at an initialiser that says little. */
export function headEnd(node: Node): number {
	switch (node.type) {
		case "FunctionDeclaration":
		case "FunctionExpression":
		case "ArrowFunctionExpression":
		case "TSDeclareFunction":
		case "TSEmptyBodyFunctionExpression":
			return node.body ? node.body.start : node.end;
		case "ClassDeclaration":
		case "ClassExpression":
		case "TSInterfaceDeclaration":
		case "TSEnumDeclaration":
			return node.body.start;
		case "TSModuleDeclaration":
			return node.body?.start ?? node.end;
		case "MethodDefinition":
		case "TSAbstractMethodDefinition":
			return headEnd(node.value);
		case "PropertyDefinition":
		case "AccessorProperty":
		case "TSAbstractPropertyDefinition":
		case "TSAbstractAccessorProperty":
			return node.value ? valueEnd(node.value) : node.end;
		case "VariableDeclarator":
			return node.init ? valueEnd(node.init) : node.end;
		case "Property":
			return valueEnd(node.value);
		default:
			return node.end;
	}
}

/** The first sentence of the doc comment that ends right before a place. */
export function docBefore(source: string, from: number): string | undefined {
	let end = from;
	while (end > 0 && isSpace(source.charCodeAt(end - 1))) end--;
	if (!source.endsWith("*/", end)) return undefined;
	const start = source.lastIndexOf("/*", end - 3);
	if (start === -1 || source[start + 2] !== "*") return undefined;
	const text = source
		.slice(start + 3, end - 2)
		.replace(/^[ \t]*\*+[ \t]?/gm, "")
		.trim();
	// Tags come after the description, or there is none.
	const description = text.split(/^@/m, 1)[0] ?? "";
	const [paragraph = ""] = description.trim().split(/\n\s*\n/, 1);
	const line = paragraph.replace(/\s+/g, " ");
	const sentence = /^.*?[.!?](?=\s+[A-Z`]|$)/.exec(line)?.[0] ?? line;
	return sentence === "" ? undefined : cut(sentence);
}

function cut(text: string): string {
	if (text.length <= MAX_LENGTH) return text;
	const end = MAX_LENGTH - 1;
	const splitsPair = /[\uD800-\uDBFF]/.test(text[end - 1] ?? "");
	return `${text.slice(0, splitsPair ? end - 1 : end)}…`;
}

/** A short value is part of the head, a function's head too; of anything else only its name and type. */
function valueEnd(value: Node): number {
	switch (value.type) {
		case "ArrowFunctionExpression":
		case "FunctionExpression":
		case "ClassExpression":
			return headEnd(value);
		default:
			return value.end - value.start <= 60 ? value.end : value.start;
	}
}

function withoutComments(text: string): string {
	// Strings are matched first, so that what looks like a comment inside them stays.
	return text.replace(
		/("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*/g,
		(_, string: string | undefined) => string ?? " ",
	);
}

function isSpace(char: number): boolean {
	return char === 32 || (char >= 9 && char <= 13);
}
