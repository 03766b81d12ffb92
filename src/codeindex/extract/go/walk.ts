import type { UsageKind } from "../../facts.ts";
import { type Chain, called, chainOf, child, typeOf } from "../tree-sitter/facts-draft.ts";
import { operandsOf, type SyntaxNode } from "../tree-sitter/syntax-tree.ts";
import { receiverBlock, typeParameters } from "./methods.ts";
import { Block, type Known, UNKNOWN } from "./scope.ts";
import { GoTypeWalk } from "./type-walk.ts";
import { resultKnown, typeKnown } from "./types.ts";

/** An expression: where it starts, if that is known, and what is known of its value. */
interface Value {
	readonly chain?: Chain | undefined;
	readonly known: Known;
}

const NOTHING: Value = { known: UNKNOWN };

/** Walks declarations and bodies in order, and records what their names refer to. */
export class GoWalk extends GoTypeWalk {
	walkFile(root: SyntaxNode): void {
		const file = new Block();
		for (const node of root.children) {
			if (node.type === "function_declaration") {
				this.#function(node, typeParameters(this.draft, node, file));
			} else if (node.type === "method_declaration") {
				const block = receiverBlock(this.draft, node, file);
				this.#function(node, block);
			} else if (node.type === "type_declaration") {
				for (const spec of node.children) this.#typeSpec(spec, file);
			} else if (/^(?:var|const)_declaration$/.test(node.type)) {
				for (const spec of specsOf(node)) this.#specValues(spec, file);
			} else if (node.type !== "import_declaration" && node.type !== "package_clause") {
				this.visit(node, file);
			}
		}
	}

	#function(node: SyntaxNode, outer: Block): void {
		this.#typeParameterTypes(node, outer);
		const block = new Block(outer);
		for (const part of node.children) {
			if (part.field === "receiver" || part.field === "parameters")
				this.#parameters(part, outer, block);
		}
		this.#result(node, outer, block);
		const body = child(node, "body");
		if (body) this.#children(body, block);
	}

	#result(node: SyntaxNode, outer: Block, block: Block): void {
		const result = child(node, "result");
		if (result?.type === "parameter_list") this.#parameters(result, outer, block);
		else if (result) this.type(result, outer);
	}

	#parameters(list: SyntaxNode, outer: Block, block: Block): void {
		for (const parameter of list.children) {
			const type = child(parameter, "type");
			const known = typeKnown(this.draft, this.names, type, outer);
			const isVariadic = parameter.type === "variadic_parameter_declaration";
			for (const id of parameter.children) {
				if (id.field !== "name") continue;
				block.declare(this.draft.text(id), isVariadic ? { element: known } : known);
			}
			if (type) this.type(type, outer);
		}
	}

	#typeParameterTypes(node: SyntaxNode, block: Block): void {
		for (const parameter of child(node, "type_parameters")?.children ?? []) {
			const type = child(parameter, "type");
			if (type) this.type(type, block);
		}
	}

	#typeSpec(spec: SyntaxNode, outer: Block): void {
		const type = child(spec, "type");
		const block = typeParameters(this.draft, spec, outer);
		this.#typeParameterTypes(spec, block);
		if (type) this.type(type, block);
	}

	#specValues(spec: SyntaxNode, block: Block): void {
		const type = child(spec, "type");
		if (type) this.type(type, block);
		const value = child(spec, "value");
		if (value) this.#children(value, block);
	}

	#children(node: SyntaxNode, block: Block): void {
		for (const inner of node.children) this.visit(inner, block);
	}

	/** Statements open blocks, and declare names from there on. */
	protected override visit(node: SyntaxNode, block: Block): void {
		switch (node.type) {
			case "comment":
			case "label_name":
				return;
			case "block":
			case "if_statement":
			case "for_statement":
			case "expression_switch_statement":
			case "expression_case":
			case "default_case":
			case "select_statement":
			case "communication_case":
				this.#children(node, new Block(block));
				return;
			case "type_switch_statement":
				this.#typeSwitch(node, new Block(block));
				return;
			case "type_declaration":
				for (const spec of node.children) {
					const id = child(spec, "name");
					if (id) block.declare(this.draft.text(id));
					this.#typeSpec(spec, block);
				}
				return;
			case "var_declaration":
			case "const_declaration":
				for (const spec of specsOf(node)) this.#localSpec(spec, block);
				return;
			case "short_var_declaration":
			case "range_clause":
			case "receive_statement":
				this.#assign(node, block);
				return;
			case "assignment_statement": {
				const left = child(node, "left");
				for (const target of left?.children ?? []) this.#expression(target, block, "write");
				for (const part of node.children) if (part !== left) this.visit(part, block);
				return;
			}
			case "inc_statement":
			case "dec_statement":
				for (const part of node.children) this.#expression(part, block, "write");
				return;
		}
		if (isType(node)) this.type(node, block);
		else this.#expression(node, block, "read");
	}

	#localSpec(spec: SyntaxNode, block: Block): void {
		const type = child(spec, "type");
		const value = child(spec, "value");
		if (type) this.type(type, block);
		const values = (value?.children ?? []).map((one) => this.#expression(one, block, "read"));
		const written = type && typeKnown(this.draft, this.names, type, block);
		const ids = spec.children.filter(
			({ field, type: kind }) => field === "name" && kind === "identifier",
		);
		for (const [index, id] of ids.entries()) {
			block.declare(this.draft.text(id), written ?? knownAt(values, index, ids.length));
		}
	}

	/** `a, b := x`, `for k, v := range x`, `case v := <-x`. With `=`, the names are written. */
	#assign(node: SyntaxNode, block: Block): void {
		const left = child(node, "left");
		const right = child(node, "right");
		const list = right?.type === "expression_list" ? right.children : right ? [right] : [];
		const values = list.map((one) => this.#expression(one, block, "read"));
		if (!left) return;
		const declares = this.draft.source.slice(left.end, right?.start ?? left.end).includes(":=");
		for (const [index, target] of left.children.entries()) {
			if (!declares || target.type !== "identifier") {
				this.#expression(target, block, "write");
				continue;
			}
			const name = this.draft.text(target);
			const ofRange = index === 1 ? (values[0]?.known.element ?? UNKNOWN) : UNKNOWN;
			const known =
				node.type === "range_clause" ? ofRange : knownAt(values, index, left.children.length);
			block.declare(name, known);
		}
	}

	#typeSwitch(node: SyntaxNode, block: Block): void {
		const alias = child(node, "alias")?.children[0];
		for (const part of node.children) {
			if (part.field === "alias") continue;
			if (part.type !== "type_case" && part.type !== "default_case") {
				this.visit(part, block);
				continue;
			}
			const types = part.children.filter(({ field }) => field === "type");
			const inner = new Block(block);
			if (alias) {
				const [only] = types;
				const known =
					only && types.length === 1 ? typeKnown(this.draft, this.names, only, block) : UNKNOWN;
				inner.declare(this.draft.text(alias), known);
			}
			for (const one of part.children) {
				if (one.field === "type") this.type(one, block);
				else this.visit(one, inner);
			}
		}
	}

	/** Walks an expression, and records its chain. Returns what is known of its value. */
	#expression(node: SyntaxNode, block: Block, usage: UsageKind): Value {
		const value = this.#value(node, block);
		this.draft.record(value.chain, node.type === "call_expression" ? "call" : usage);
		return value.chain ? { known: { ...value.known, type: typeOf(value.chain) } } : value;
	}

	#value(node: SyntaxNode, block: Block): Value {
		switch (node.type) {
			case "identifier": {
				const local = block.find(this.draft.text(node));
				if (local) return { known: local, chain: local.type && chainOf(local.type) };
				return { known: UNKNOWN, chain: this.named(node, block) };
			}
			case "selector_expression":
				return this.#selector(node, block);
			case "call_expression":
				return this.#call(node, block);
			case "parenthesized_expression": {
				const [inner] = node.children;
				return inner
					? isType(inner)
						? this.#conversion(inner, block)
						: this.#value(inner, block)
					: NOTHING;
			}
			case "unary_expression": {
				const [operand] = node.children;
				if (!operand) return NOTHING;
				const operator = this.draft.source[node.start];
				if (operator === "&" || operator === "*") return this.#value(operand, block);
				const { known } = this.#expression(operand, block, "read");
				return operator === "<" && known.element ? ofKnown(known.element) : NOTHING;
			}
			case "composite_literal":
				return this.#literal(node, block);
			case "index_expression": {
				const [operand, ...rest] = node.children;
				const known = operand ? this.#expression(operand, block, "read").known : UNKNOWN;
				for (const one of rest) this.visit(one, block);
				return known.element ? ofKnown(known.element) : NOTHING;
			}
			case "slice_expression": {
				const [operand, ...rest] = node.children;
				const value = operand ? this.#expression(operand, block, "read") : NOTHING;
				for (const one of rest) this.visit(one, block);
				return { known: value.known.element ? { element: value.known.element } : UNKNOWN };
			}
			case "type_assertion_expression": {
				const [operand, type] = node.children;
				if (operand) this.#expression(operand, block, "read");
				return type ? this.#conversion(type, block) : NOTHING;
			}
			case "type_conversion_expression": {
				const [type, operand] = node.children;
				if (operand) this.#expression(operand, block, "read");
				return type ? this.#genericCall(type, block) : NOTHING;
			}
			case "binary_expression":
				for (const operand of operandsOf(node)) this.visit(operand, block);
				return NOTHING;
			case "func_literal": {
				const known = resultKnown(this.draft, this.names, child(node, "result"), block);
				this.#function(node, block);
				return { known: { result: known } };
			}
		}
		this.#children(node, block);
		return NOTHING;
	}

	#conversion(type: SyntaxNode, block: Block): Value {
		this.type(type, block);
		return ofKnown(typeKnown(this.draft, this.names, type, block));
	}

	/** `F[int](x)` calls a generic function, or converts to a generic type. */
	#genericCall(type: SyntaxNode, block: Block): Value {
		return this.#conversion(type, block);
	}

	#selector(node: SyntaxNode, block: Block): Value {
		const operand = child(node, "operand");
		const field = child(node, "field");
		if (!operand || !field) return NOTHING;
		const { chain, known } = this.#value(operand, block);
		if (!chain && known.type) return NOTHING;
		return {
			known: UNKNOWN,
			chain: this.draft.access(chain, this.draft.text(field), field.start),
		};
	}

	#call(node: SyntaxNode, block: Block): Value {
		const target = child(node, "function");
		const list = child(node, "arguments");
		if (!target) return NOTHING;
		const name = target.type === "identifier" ? this.draft.text(target) : "";
		const [first] = list?.children ?? [];
		if ((name === "new" || name === "make") && first && !block.find(name)) {
			if (list) this.#children(list, block);
			return ofKnown(typeKnown(this.draft, this.names, first, block));
		}
		const { chain, known } = this.#value(target, block);
		for (const part of node.children) if (part !== target) this.#arguments(part, block);
		if (known.result) {
			this.draft.record(chain, "call");
			return ofKnown(known.result);
		}
		if (name === "append") return NOTHING;
		return { known: UNKNOWN, chain: called(chain) };
	}

	#arguments(list: SyntaxNode, block: Block): void {
		for (const one of list.children) {
			if (isType(one)) this.type(one, block);
			else this.visit(one, block);
		}
	}

	#literal(node: SyntaxNode, block: Block): Value {
		const type = child(node, "type");
		const body = child(node, "body");
		if (!type || !body) return NOTHING;
		this.type(type, block, "new");
		const known = typeKnown(this.draft, this.names, type, block);
		this.#elements(body, known, block, this.#isContainer(type));
		return ofKnown(known);
	}

	#isContainer(type: SyntaxNode): boolean {
		return (
			/^(?:map|slice|array|implicit_length_array)_type$/.test(type.type) ||
			this.names.containers.has(this.draft.text(type))
		);
	}

	/** Keys of struct literals are fields, others are expressions. Inner literals may leave out their type. */
	#elements(body: SyntaxNode, known: Known, block: Block, isContainer: boolean): void {
		for (const element of body.children) {
			const key = child(element, "key");
			const value = element.type === "keyed_element" ? child(element, "value") : element;
			if (key) this.#key(key, known, block, isContainer);
			const [inner] = value?.children ?? [];
			if (inner?.type === "literal_value") {
				const of = known.element ?? UNKNOWN;
				this.#elements(inner, of, block, of.element !== undefined);
			} else if (value) this.#children(value, block);
		}
	}

	#key(key: SyntaxNode, known: Known, block: Block, isContainer: boolean): void {
		const [name] = key.children;
		if (name?.type === "identifier" && !isContainer) {
			const chain = known.type && chainOf(known.type);
			this.draft.record(this.draft.access(chain, this.draft.text(name), name.start), "write");
		} else if (name?.type === "literal_value") this.#elements(name, UNKNOWN, block, true);
		else this.#children(key, block);
	}
}

function specsOf(node: SyntaxNode): readonly SyntaxNode[] {
	return node.children.flatMap((one) => (one.type === "var_spec_list" ? one.children : one));
}

function ofKnown(known: Known): Value {
	return { known, chain: known.type && chainOf(known.type) };
}

/** Of several names and one call, the first is of the result's type. */
function knownAt(values: readonly Value[], index: number, names: number): Known {
	if (values.length === names || index === 0) return values[index]?.known ?? UNKNOWN;
	return UNKNOWN;
}

function isType({ type }: SyntaxNode): boolean {
	return /^(?:type_identifier|qualified_type|\w+_type)$/.test(type);
}
