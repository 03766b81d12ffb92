import {
	Birth,
	type CallResult,
	createLoudMatcher,
	defaultBirth,
	expand,
	isWorthIt,
	nameOf,
	type ShortResult,
} from "../birth/engine.ts";
import { type BlobStore, blobFolder, createBlobStore, storeVerified } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { ExcludedValues, guardBlobs } from "../core/excluded-values.ts";
import { isWithin, shownPath } from "../core/places.ts";
import { showsSecretVariable } from "../core/secret-values.ts";
import type { InView, NewResult } from "./in-view.ts";
import { hasNumberedLookalike, withPlainReferences } from "./numbered.ts";

/** Whether a call may return text of an excluded file. */
export type TouchesExcluded = (
	call: { readonly input: unknown; readonly details: undefined },
	exclude: readonly string[],
	cwd: string,
) => boolean;

interface ShortenerOptions {
	readonly config: Config;
	/** The project. */
	readonly root: string;
	readonly env: NodeJS.ProcessEnv;
	readonly touchesExcluded: TouchesExcluded;
	/** Counts only. */
	readonly isShadow: boolean;
}

export type Outcome =
	| { readonly kind: "short" | "shadow"; readonly text: string }
	| { readonly kind: "stays"; readonly why: string };

/** Results of more characters stay: an agent may store them elsewhere and show their start only. */
const MAX_CHARS = 262_144;

/** Shortens the new results of one conversation. Its index grows as long as the view only grows. */
export class Shortener {
	readonly #options: ShortenerOptions;
	readonly #blobs: BlobStore;
	readonly #values: ExcludedValues;
	readonly #isLoud: (input: unknown) => boolean;
	readonly #storePaths: readonly string[];
	#birth: Birth;
	/** The results of the last view, and what they were added as. */
	#seen: CallResult[] = [];
	#added: CallResult[] = [];

	constructor(options: ShortenerOptions) {
		const { config, root, env } = options;
		this.#options = options;
		this.#values = new ExcludedValues({ root, exclude: config.readcache.exclude, env });
		this.#blobs = guardBlobs(createBlobStore(config.blobs), this.#values);
		this.#isLoud = createLoudMatcher(config.birth.quietExcept);
		const folder = blobFolder(config.blobs);
		this.#storePaths = [folder, shownPath(folder)];
		this.#birth = this.#newBirth();
	}

	/** Stores the original before it returns a shorter text. Rejects only by mistake. */
	async shorten(result: NewResult, view: InView, cwd: string): Promise<Outcome> {
		const why = this.#whyNot(result, cwd);
		if (why !== undefined) return stays(why);
		const { text } = result;
		this.#advance(view.results);
		const results = this.#added;
		const { path } = this.#blobs.nameOf(text);
		const short = this.#decide(result, path, cwd);
		if (!short) return stays("nothing repeats");
		const shown = result.fit ? result.fit(short.text, path) : short.text;
		if (shown === undefined) return stays("the agent cannot show it shorter");
		const { minTokens } = this.#options.config.birth;
		if (!isWorthIt(text.length, shown.length, minTokens)) return stays("too little would be saved");
		if (expand(withPlainReferences(shown), results) !== short.expanded) {
			return stays("a reference is not backed");
		}
		const bases = new Set(short.references.map(({ base }) => base));
		const used = results.filter(({ id }) => bases.has(id));
		if (!areNamed(used, view)) return stays("a reference could mean another result");
		await this.#values.refresh();
		const texts = [text, ...used.map((one) => one.text ?? "")];
		// The environment of the agent may be another one than ours.
		const isSecret = (one: string) => this.#values.appearIn(one) || showsSecretVariable(one);
		if (texts.some(isSecret)) return stays("it holds a secret value");
		if (this.#isShadow) return { kind: "shadow", text: shown };
		const stored = await storeVerified(text, this.#blobs);
		return typeof stored === "string" ? stays(stored) : { kind: "short", text: shown };
	}

	get #isShadow(): boolean {
		return this.#options.isShadow || this.#options.config.birth.mode === "shadow";
	}

	#whyNot({ text, input, tool }: NewResult, cwd: string): string | undefined {
		const { config, root, touchesExcluded } = this.#options;
		// Secret values are searched for in the project only.
		if (cwd !== root && !isWithin(root, cwd)) return "it was called outside of the project";
		if (config.birth.mode === "off") return "birth.mode is off";
		if (!config.blobs.enabled || config.blobs.scope !== "all") return "texts are not stored";
		if (text.length < config.birth.minChars) return "it is short";
		if (text.length > MAX_CHARS) return "it is too long";
		if (!text.isWellFormed() || hasNumberedLookalike(text)) return "its text is unusual";
		const asked = JSON.stringify(input ?? null);
		if (this.#storePaths.some((path) => asked.includes(JSON.stringify(path).slice(1, -1)))) {
			return "a stored text was asked for";
		}
		const isExcluded = touchesExcluded(
			{ input, details: undefined },
			config.readcache.exclude,
			cwd,
		);
		return isExcluded ? `${tool} touches an excluded file` : undefined;
	}

	#decide(
		{ id, tool, input, text }: NewResult,
		path: string,
		cwd: string,
	): ShortResult | undefined {
		const { config, touchesExcluded } = this.#options;
		const inputs = new Map(this.#added.map((one) => [one.id, one.input]));
		const isVisible = (base: string) =>
			inputs.has(base) &&
			!touchesExcluded(
				{ input: inputs.get(base), details: undefined },
				config.readcache.exclude,
				cwd,
			);
		return this.#birth.shorten(
			{ id, tool, input, text, path, isLoud: this.#isLoud(input) },
			isVisible,
		);
	}

	/** Where the view is the one of the last event, results are known already. */
	#advance(results: readonly CallResult[]): void {
		const isSame = ({ id, text }: CallResult, at: number) =>
			id === results[at]?.id && text === results[at]?.text;
		if (!this.#seen.every(isSame)) {
			this.#birth = this.#newBirth();
			this.#seen = [];
			this.#added = [];
		}
		for (const result of results.slice(this.#seen.length)) {
			const { text } = result;
			const added = text === undefined ? result : { ...result, text: withPlainReferences(text) };
			this.#birth.add(added);
			this.#seen.push(result);
			this.#added.push(added);
		}
	}

	#newBirth(): Birth {
		const { minLines, minChars, minTokens: minSavedTokens, quiet } = this.#options.config.birth;
		return new Birth({
			dedupe: { ...defaultBirth.dedupe, minLines, minChars, minSavedTokens },
			...(quiet === "on" && { quiet: { ...defaultBirth.quiet, minSavedTokens } }),
		});
	}
}

function stays(why: string): Outcome {
	return { kind: "stays", why };
}

/** Whether no result that is not known can have the name of one that is referred to. */
function areNamed(used: readonly CallResult[], { unseen }: InView): boolean {
	const names = new Set(unseen.map(nameOf));
	return !used.some((one) => names.has(nameOf(one)));
}
