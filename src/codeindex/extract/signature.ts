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

/** A text of at most so many characters as a signature has. */
export function cut(text: string): string {
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
