import { birthPolicies } from "../birth/index.ts";
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
	replayPolicies,
	replaySessions,
	requestIdsIn,
	strataPolicy,
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

export type PolicySettings = Pick<Config, "prune" | "tiers">;

export type ReplayJob = FileJob & ReplaySettings;

/** `requests`: asks which of the file's requests earlier files have. */
export type ReplayNote =
	| { readonly kind: "progress"; readonly text: string }
	| { readonly kind: "requests"; readonly ids: ReadonlySet<string> };

export function policiesWith({ prune, tiers }: PolicySettings): {
	readonly usual: readonly ReplayPolicy[];
	readonly onlyNamed: readonly ReplayPolicy[];
} {
	const pruning = pruningPolicy(prune);
	return {
		usual: [...replayPolicies, strataPolicy(pruning), pruning],
		onlyNamed: [...BIRTH_POLICIES, tiersPolicy(tiers), logPolicy],
	};
}

/** These need the texts of results. */
const BIRTH_POLICIES = birthPolicies(resultTextOf);

/** Reads and replays one file. Each request counts once: the answer to its note says which do not. */
export async function replayFile(
	{ path, policies: names, settings, model }: ReplayJob,
	{ notify, receive }: JobContext<ReplayNote, ReadonlySet<string>>,
): Promise<ReplayedSessions> {
	const shown = plainText(path); // file names are untrusted
	const progress = (text: string) => notify({ kind: "progress", text });
	const needsTexts = BIRTH_POLICIES.some(({ name }) => names.includes(name));
	const sessions = await readSessions(path, {
		detail: needsTexts ? "texts" : "contents",
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
