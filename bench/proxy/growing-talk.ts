const LINES = 80;

/** A conversation in Anthropic's form whose every second new result repeats an earlier one. */
export class GrowingTalk {
	readonly #messages: object[] = [{ role: "user", content: "Begin." }];
	readonly #texts: string[] = [];
	readonly #name: string;
	#line = 0;

	/** Begins with results of about `bytes` in all. `name` tells conversations apart. */
	constructor(bytes: number, name: string) {
		this.#name = name;
		for (let size = 0; size < bytes; ) {
			const text = this.#newText();
			this.#add(text);
			size += Buffer.byteLength(JSON.stringify(text)) + 300;
		}
	}

	body(): Buffer {
		return Buffer.from(JSON.stringify({ model: "claude-bench", messages: this.#messages }));
	}

	/** The request with one result more. */
	grow(): Buffer {
		const repeated = this.#texts[this.#texts.length % 7];
		this.#add(this.#texts.length % 2 === 0 && repeated ? repeated : this.#newText());
		return this.body();
	}

	#newText(): string {
		return Array.from({ length: LINES }, () => {
			const at = this.#line++;
			return `\tconst value${at} = await compute("${(at * 7919) % 100_003}"); // ${"x".repeat(at % 40)}`;
		}).join("\n");
	}

	#add(text: string): void {
		const id = `toolu_${this.#name}_${this.#texts.length}`;
		const input = { file_path: `src/file-${this.#texts.length}.ts` };
		this.#texts.push(text);
		this.#messages.push(
			{ role: "assistant", content: [{ type: "tool_use", id, name: "Read", input }] },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text }] },
		);
	}
}
