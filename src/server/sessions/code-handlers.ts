import {
	type CodeIndex,
	CodeIndexError,
	type Coverage,
	type IndexQueries,
	openCodeIndex,
	type QueryOf,
	type QuestionName,
} from "../../codeindex/index.ts";
import { type CommandType, type Data, type ResponseData, rowOf } from "../../protocol/index.ts";
import { type Call, CommandError } from "../engine/call.ts";
import { safeText } from "../safe-text.ts";
import type { SessionHandlers } from "./held-session.ts";
import type { LiveSession } from "./live-session.ts";

const IDLE_MS = 60_000;

interface PooledIndex {
	readonly index: CodeIndex;
	inFlight: number;
	timer?: NodeJS.Timeout;
}

/** Opens one index per project, for all its sessions. Closes an index that was idle for `idleMs`. */
export class IndexPool {
	readonly #open: typeof openCodeIndex;
	readonly #idleMs: number;
	readonly #byFolder = new Map<string, PooledIndex>();

	constructor(open = openCodeIndex, idleMs = IDLE_MS) {
		this.#open = open;
		this.#idleMs = idleMs;
	}

	async use<Answer>(cwd: string, work: (index: CodeIndex) => Promise<Answer>): Promise<Answer> {
		let pooled = this.#byFolder.get(cwd);
		try {
			pooled ??= { index: this.#open({ root: cwd }), inFlight: 0 };
			this.#byFolder.set(cwd, pooled);
			clearTimeout(pooled.timer);
			pooled.inFlight++;
			return await work(pooled.index);
		} catch (error) {
			const code = error instanceof CodeIndexError ? CODES[error.code] : "failed";
			throw new CommandError(code, safeText(error), { cause: error });
		} finally {
			if (pooled) this.#release(cwd, pooled);
		}
	}

	async close(): Promise<void> {
		const all = [...this.#byFolder.values()];
		this.#byFolder.clear();
		for (const { timer } of all) clearTimeout(timer);
		await Promise.all(all.map(({ index }) => index.close()));
	}

	#release(cwd: string, pooled: PooledIndex): void {
		if (--pooled.inFlight > 0 || this.#byFolder.get(cwd) !== pooled) return;
		pooled.timer = setTimeout(() => {
			this.#byFolder.delete(cwd);
			void pooled.index.close();
		}, this.#idleMs);
		pooled.timer.unref();
	}
}

export function createCodeHandlers(indexes: IndexPool) {
	async function ask<Type extends CommandType, Name extends QuestionName>(
		{ runtime }: LiveSession,
		{ signal }: Call<Type>,
		question: Name,
		query: QueryOf<Name>,
	): Promise<ResponseData[Type]> {
		return indexes.use(runtime.cwd, async (index) => {
			const asked: IndexQueries = index;
			const { state } = await index.status();
			if (state !== "ready") await index.build({ signal, skeletonFirst: true });
			return withoutFolders(await asked[question](query, { signal })) as ResponseData[Type];
		});
	}

	return {
		code_status: ({ runtime }, _, { call: { signal } }) =>
			indexes.use(runtime.cwd, async (index) => {
				const { state } = await index.status();
				if (state !== "ready") return { state };
				// Every answer includes the coverage, so this asks the cheapest question: a one-word search.
				const { coverage } = await index.search({ query: "index", limit: 1 }, { signal });
				return withoutFolders({ state, coverage }) as ResponseData["code_status"];
			}),
		code_search: (live, command, { call }) => ask(live, call, "search", fieldsOf(command)),
		code_deps: (live, command, { call }) => ask(live, call, "dependencies", fieldsOf(command)),
		code_usages: (live, command, { call }) => ask(live, call, "usages", fieldsOf(command)),
	} satisfies Partial<SessionHandlers>;
}

/** Hides the server's index folder from clients. */
function withoutFolders<Answer extends { readonly coverage?: Coverage }>(answer: Answer): unknown {
	const { coverage } = answer;
	if (!coverage?.notStored) return answer;
	const notStored = { reason: safeText(coverage.notStored.reason) };
	return { ...answer, coverage: { ...coverage, notStored } };
}

/** Drops fields unknown to the protocol: they were not validated. */
function fieldsOf<Fields extends { type: CommandType }>(command: Fields): Fields {
	const known = rowOf(command.type)?.fields.properties ?? {};
	const given = Object.entries(command).filter(([name]) => Object.hasOwn(known, name));
	return Object.fromEntries(given) as Fields;
}

const CODES: Readonly<Record<CodeIndexError["code"], Data<"ErrorCode">>> = {
	"not-indexed": "wrong_state",
	"unknown-file": "not_found",
	"outside-project": "invalid_command",
	"bad-query": "invalid_command",
	aborted: "interrupted",
	unavailable: "failed",
	failed: "failed",
};
