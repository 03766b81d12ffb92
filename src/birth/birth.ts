import { Dedupe } from "./dedupe.ts";
import { Scanner } from "./lines.ts";
import { quiet } from "./quiet.ts";
import type { PlacedReference } from "./reference.ts";
import { type CallResult, isShell } from "./result.ts";
import type { BirthSettings } from "./settings.ts";

/** A part whose settings are missing is off. */
export type BirthParts = Partial<BirthSettings>;

/** What the model sees instead of a result's own text. */
export interface ShortResult {
	readonly text: string;
	/** The text without references: {@link expand} returns it. The exact text unless it was made quiet. */
	readonly expanded: string;
	/** In the order of their lines. */
	readonly references: readonly PlacedReference[];
}

/**
 * Shortens results before a model sees them for the first time: output of commands is made quiet, then
 * lines that an earlier result shows become references.
 */
export class Birth {
	readonly #quiet: BirthSettings["quiet"] | undefined;
	readonly #dedupe: Dedupe | undefined;
	readonly #scanner = new Scanner();

	constructor(parts: BirthParts) {
		this.#quiet = parts.quiet;
		this.#dedupe = parts.dedupe && new Dedupe(parts.dedupe, this.#scanner);
	}

	/** `undefined` if the result stays as it is. Changes nothing; see {@link Dedupe.decide}. */
	shorten(result: CallResult, isVisible?: (id: string) => boolean): ShortResult | undefined {
		const { text, isError, isLoud, tool, path, ...call } = result;
		if (text === undefined || isError) return undefined;
		const settings = isShell(tool) && !isLoud ? this.#quiet : undefined;
		const quieter = settings && quiet(text, settings, path, this.#scanner);
		const expanded = quieter ?? text;
		const full = { ...call, tool, text: expanded };
		const named = path === undefined ? full : { ...full, path };
		// A quiet text names its path already, unless the line that does is behind a reference.
		let short = this.#dedupe?.decide(quieter === undefined ? named : full, isVisible);
		if (short !== undefined && !short.text.includes(path ?? ""))
			short = this.#dedupe?.decide(named, isVisible);
		if (short === undefined && quieter === undefined) return undefined;
		return { text: expanded, references: [], ...short, expanded };
	}

	/** Adds a result as the model sees it, so that later ones can refer to it. */
	add(result: CallResult, shown?: string): void {
		this.#dedupe?.add(result, shown);
		this.#scanner.forget();
	}
}
