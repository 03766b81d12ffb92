import { Dedupe } from "./dedupe.ts";
import { quiet } from "./quiet.ts";
import { type CallResult, isShell } from "./result.ts";
import type { BirthSettings } from "./settings.ts";

/** A part whose settings are missing is off. */
export type BirthParts = Partial<BirthSettings>;

/** What the model sees instead of a result's own text. */
export interface ShortResult {
	readonly text: string;
	/** The text without references: {@link expand} returns it. The exact text unless it was made quiet. */
	readonly expanded: string;
}

/**
 * Shortens results before a model sees them for the first time: output of commands is made quiet, then
 * lines that an earlier result shows become references.
 */
export class Birth {
	readonly #quiet: BirthSettings["quiet"] | undefined;
	readonly #dedupe: Dedupe | undefined;

	constructor(parts: BirthParts) {
		this.#quiet = parts.quiet;
		this.#dedupe = parts.dedupe && new Dedupe(parts.dedupe);
	}

	/** `undefined` if the result stays as it is. Changes nothing; see {@link Dedupe.shorten}. */
	shorten(result: CallResult, isVisible?: (id: string) => boolean): ShortResult | undefined {
		const { text, isError, isLoud, tool, path, ...call } = result;
		if (text === undefined || isError) return undefined;
		const settings = isShell(tool) && !isLoud ? this.#quiet : undefined;
		const quieter = settings && quiet(text, settings, path);
		const expanded = quieter ?? text;
		// A quiet text names its path already.
		const named = quieter === undefined && path !== undefined ? { path } : {};
		const short = this.#dedupe?.shorten({ ...call, tool, text: expanded, ...named }, isVisible);
		if (short === undefined && quieter === undefined) return undefined;
		return { text: short ?? expanded, expanded };
	}

	/** Adds a result as the model sees it, so that later ones can refer to it. */
	add(result: CallResult, shown?: string): void {
		this.#dedupe?.add(result, shown);
	}
}
