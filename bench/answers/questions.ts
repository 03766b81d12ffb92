/** A question with its answers: any of the symbols, written `file#Owner.member`. Positions and names only. */
export interface Question {
	readonly ask: string;
	readonly answers: readonly string[];
	/** Looked at only after the ranking was chosen. */
	readonly heldOut?: true;
}

/** Names a copied set of sources; see `repositories.ts`. */
export type Repository = "strata" | "pi" | "undici";

/** Chosen before the ranking was changed. Answers are looked up by hand. */
export const QUESTIONS: Readonly<Record<Repository, readonly Question[]>> = {
	strata: [
		open("which tests reach a changed file", "codeindex/queries/tests-of.ts#testsOf"),
		open("cut an answer to its byte budget", "code/outline.ts#fitText", "code/outline.ts#cutText"),
		open("prometheus metrics", "server/metrics.ts#prometheusText"),
		open("is a network address public or private", "paging/fetch/address.ts#isPublicAddress"),
		open("share of tokens read from the cache", "usage/sums.ts#hitRate"),
		open("find the git root of the working folder", "core/places.ts#projectRoot"),
		open(
			"asking the user for consent to index",
			"code/project.ts#CodeProject.#askUser",
			"code/project.ts#CodeProject.#needConsent",
			"code/index-text.ts#consentText",
		),
		held("duplicate reads of a session", "economy/replay/report.ts#findDuplicateReads"),
		held("values that are secrets in a file", "core/secret-values.ts#secretValuesOf"),
		held("estimating tokens", "core/tokens.ts#estimateTokens"),
		held("decompress the body of an exchange", "traffic/decode.ts#decodeBody"),
		held("import cycles", "codeindex/queries/graph.ts#cyclesAmong"),
		held("marker for an unchanged file", "readcache/metadata.ts#unchangedMarker"),
		held(
			"waiting for the lock of another writer",
			"codeindex/store/writer-lock.ts#WriterLock.take",
			"codeindex/store/writer-lock.ts#WriterLock",
		),
	],
	pi: [
		open(
			"which errors are retried",
			"pi-coding-agent/dist/core/agent-session.js#AgentSession._isRetryableError",
			"pi-ai/dist/api/openai-codex-responses.js#isRetryableError",
		),
		open(
			"where is compaction decided",
			"pi-agent-core/dist/harness/compaction/compaction.js#shouldCompact",
			"pi-coding-agent/dist/core/compaction/compaction.js#shouldCompact",
		),
		open(
			"open the prompt in an external editor",
			"pi-coding-agent/dist/modes/interactive/external-editor.js#editInExternalEditor",
		),
		open(
			"how many terminal cells does an image take",
			"pi-tui/dist/terminal-image.js#calculateImageCellSize",
		),
		open("budget of a thinking level", "pi-ai/dist/api/simple-options.js#thinkingBudgetForLevel"),
		open("wrapping ANSI text to a width", "pi-tui/dist/utils.js#wrapTextWithAnsi"),
		held(
			"detect cache misses",
			"pi-coding-agent/dist/core/cache-stats.js#detectCacheMiss",
			"pi-coding-agent/dist/core/cache-stats.js#detectMiss",
		),
		held(
			"truncated output of a tool, last lines kept",
			"pi-agent-core/dist/harness/utils/truncate.js#truncateTail",
			"pi-coding-agent/dist/core/tools/truncate.js#truncateTail",
		),
		held("redact JSON of a bug report", "pi-coding-agent/dist/core/bug-report.js#redactJsonValue"),
		held(
			"is the terminal dark or light",
			"pi-coding-agent/dist/modes/interactive/theme/theme.js#detectTerminalThemeForAuto",
		),
		held(
			"match a session with the search query",
			"pi-coding-agent/dist/modes/interactive/components/session-selector-search.js#matchSession",
		),
		held(
			"load extensions",
			"pi-coding-agent/dist/core/extensions/loader.js#loadExtensions",
			"pi-coding-agent/dist/core/extensions/loader.js#loadExtensionsCached",
		),
		held(
			"arguments of a prompt template command",
			"pi-agent-core/dist/harness/prompt-templates.js#parseCommandArgs",
			"pi-coding-agent/dist/core/prompt-templates.js#parseCommandArgs",
		),
	],
	undici: [
		open("parse the cache-control header", "util/cache.js#parseCacheControlHeader"),
		open("does a cached response need to be revalidated", "interceptor/cache.js#needsRevalidation"),
		open("following redirects in fetch", "web/fetch/index.js#httpRedirectFetch"),
		open(
			"evict entries of the memory cache",
			"cache/memory-cache-store.js#MemoryCacheStore.#evict",
		),
		open("validate the max age of a cookie", "web/cookies/util.js#validateCookieMaxAge"),
		open("create a websocket frame", "web/websocket/frame.js#WebsocketFrameSend.createFrame"),
		open(
			"headers to resume an interrupted response",
			"handler/retry-handler.js#buildResumeHeaders",
		),
		held("trustworthy urls", "web/fetch/util.js#isURLPotentiallyTrustworthy"),
		held("strip a url for the referrer", "web/fetch/util.js#stripURLForReferrer"),
		held("websocket extensions parsing", "web/websocket/util.js#parseExtensions"),
		held("tick of the fast timers", "util/timers.js#onTick", "util/timers.js#FastTimer"),
		held("disable network connections in mocks", "mock/mock-agent.js#MockAgent.disableNetConnect"),
		held("process a data url", "web/fetch/data-url.js#dataURLProcessor"),
	],
};

function open(ask: string, ...answers: string[]): Question {
	return { ask, answers };
}

function held(ask: string, ...answers: string[]): Question {
	return { ask, answers, heldOut: true };
}
