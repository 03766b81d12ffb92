import { stat } from "node:fs/promises";
import { policiesWithBirth } from "../birth/index.ts";
import type { FileJob } from "../core/file-workers.ts";
import { getOrAdd } from "../core/get-or-add.ts";
import type { Config } from "../core/settings.ts";
import type { JobContext } from "../core/worker-entry.ts";
import {
	fullName,
	knownModel,
	type ModelName,
	type ReplayedSessions,
	type ReplayModel,
	type ReplayPolicy,
	replaySessions,
	requestIdsIn,
} from "../economy/replay/index.ts";
import { readSessions, resultTextOf } from "../importers/index.ts";
import { pruningPolicy } from "../pruning/index.ts";
import { plainText } from "../text/one-line.ts";
import { tiersPolicy } from "../tiers/index.ts";
import { logPolicy } from "../workset/index.ts";

/** Policies are functions, which no worker can be sent. So a job has their names and settings. */
export interface ReplaySettings {
	readonly policies: readonly string[];
	readonly settings: PolicySettings;
	/** Applies its prices and rules to all requests. */
	readonly model?: ModelName | undefined;
}

export type PolicySettings = Pick<Config, "birth" | "prune" | "tiers">;

export type ReplayJob = FileJob & ReplaySettings;

/** `requests`: asks which of the file's requests earlier files have. */
export type ReplayNote =
	| { readonly kind: "progress"; readonly text: string }
	| { readonly kind: "requests"; readonly ids: ReadonlySet<string> };

export function policiesWith({ birth, prune, tiers }: PolicySettings): {
	readonly usual: readonly ReplayPolicy[];
	readonly onlyNamed: readonly ReplayPolicy[];
} {
	const { usual, further } = policiesWithBirth(pruningPolicy(prune), resultTextOf, birth);
	return { usual, onlyNamed: [...further, tiersPolicy(tiers), logPolicy] };
}

/** These need the texts of results. */
const WITH_TEXTS: ReadonlySet<string> = new Set([
	"birth",
	"quiet",
	"birth-quiet",
	"birth-clearing",
	"strata",
]);

/** Texts of larger files would take too much memory: their results are not shortened at birth. */
const MOST_TEXT_BYTES = 128 * 1024 * 1024;

/** Reads and replays one file. Each request counts once: the answer to its note says which do not. */
export async function replayFile(
	{ path, policies: names, settings, model }: ReplayJob,
	{ notify, receive }: JobContext<ReplayNote, ReadonlySet<string>>,
): Promise<ReplayedSessions> {
	const shown = plainText(path); // file names are untrusted
	const progress = (text: string) => notify({ kind: "progress", text });
	const needsTexts = names.some((name) => WITH_TEXTS.has(name));
	const isSmall = await stat(path).then(
		({ size }) => size <= MOST_TEXT_BYTES,
		() => true, // reading it will report the error
	);
	const sessions = await readSessions(path, {
		detail: needsTexts && isSmall ? "texts" : "contents",
		onProgress: (bytes, ofBytes) =>
			progress(`reading ${shown}: ${Math.floor((100 * bytes) / ofBytes)} %`),
	});
	notify({ kind: "requests", ids: requestIdsIn(sessions) });
	const seen = new Set(await receive());
	progress(`rebuilding the requests of ${shown} …`);
	const { usual, onlyNamed } = policiesWith(settings);
	const replayed = replaySessions(sessions, {
		policies: [...usual, ...onlyNamed].filter(({ name }) => names.includes(name)),
		modelFor: modelsByName(model),
		seen,
		onProgress: (policy) => progress(`replaying ${shown}: ${policy} …`),
	});
	if (replayed.billed === 0) {
		const isCut = sessions.some(({ skipped }) => skipped.surplus > 0);
		const where = isCut ? " in the part that could be read" : "";
		throw new Error(
			`${path} has no request with token counts from a provider${where}, so there is nothing to replay`,
		);
	}
	return replayed;
}

/** Finds models by their name in the session file, or always the one given `instead`. */
function modelsByName(instead: ModelName | undefined): (name: ModelName) => ReplayModel {
	const found = new Map<string, ReplayModel>();
	return (named) => {
		const { provider, id } = instead ?? named;
		return getOrAdd(found, fullName({ provider, id }), () => knownModel({ provider, id }));
	};
}
