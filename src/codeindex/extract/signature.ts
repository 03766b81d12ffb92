import type { Node } from "./ast.ts";

/** Maximum length of signatures and doc sentences, in characters. */
const MAX_LENGTH = 200;

export function headOf(source: string, start: number, end: number): string {
	// Bounds the work. Four times the maximum leaves room for comments.
	const text = source.slice(start, Math.min(end, start + 4 * MAX_LENGTH));
	const plain = text.includes("/*") || text.includes("//") ? withoutComments(text) : text;
	return cut(
		plain
			.replace(/\s+/g, " ")
			.replace(/([([{]|(?<! )<) | ([)\]},;]|>(?![\s>=]))/g, "$1$2")
			.replace(/,([)\]}>])/g, "$1")
			.replace(/[\s={;,]+$/, "")
			.trim(),
	);
}

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
		case "AssignmentExpression":
			return node.right.type === "AssignmentExpression"
				? headEnd(node.right)
				: valueEnd(node.right);
		default:
			return node.end;
	}
}

export function cut(text: string): string {
	if (text.length <= MAX_LENGTH) return text;
	const end = MAX_LENGTH - 1;
	const splitsPair = /[\uD800-\uDBFF]/.test(text[end - 1] ?? "");
	return `${text.slice(0, splitsPair ? end - 1 : end)}…`;
}

/** End of the signature: after a short value or a function's head, otherwise before the value. */
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
	// Strings match first, so comment markers inside strings are kept.
	return text.replace(
		/("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*/g,
		(_, string: string | undefined) => string ?? " ",
	);
}
