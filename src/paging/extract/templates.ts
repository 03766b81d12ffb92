import type { TreeNode } from "./page-tree.ts";

/**
 * Numbers for elements that come from the same template of a page: same name, and same class and id apart from digits
 * (`post_content77` and `post_content78`).
 */
export class Templates {
	readonly #byElement = new Map<string, number>();
	readonly #byPath = new Map<number, number>();
	readonly #elements: Int32Array;
	readonly #paths: Int32Array;

	constructor(nodes: readonly TreeNode[]) {
		const size = nodes.length;
		this.#elements = new Int32Array(size);
		this.#paths = new Int32Array(size);
		for (const { index, name, label, parent } of nodes) {
			const element = this.#elementNumber(`${name}.${label}`);
			this.#elements[index] = element;
			const above = parent ? (this.#elements[parent.index] as number) : 0;
			const aboveThat = parent?.parent ? (this.#elements[parent.parent.index] as number) : 0;
			this.#paths[index] = this.#join(this.#join(element, above), aboveThat);
		}
	}

	/** The template of the element, its parent and the parent of that. */
	of({ index }: TreeNode): number {
		return this.#paths[index] as number;
	}

	#elementNumber(text: string): number {
		const known = this.#byElement.get(text);
		if (known !== undefined) return known;
		const plain = text.replace(/\d+/g, "#");
		const number = this.#byElement.get(plain) ?? this.#byElement.size + 1;
		this.#byElement.set(plain, number);
		this.#byElement.set(text, number);
		return number;
	}

	#join(inner: number, outer: number): number {
		const key = inner * SPREAD + outer;
		const known = this.#byPath.get(key);
		if (known !== undefined) return known;
		const number = this.#byPath.size + 1;
		this.#byPath.set(key, number);
		return number;
	}
}

/** Above any number of elements, so that two numbers make one key. */
const SPREAD = 2 ** 24;
