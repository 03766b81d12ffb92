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
import type { LiveSession } from "./live-session.ts";
import type { SessionHandlers } from "./slot.ts";

const IDLE_MS = 60_000;

/** One index per project, shared by all its sessions. */
export function createCodeHandlers(open = openCodeIndex, idleMs = IDLE_MS) {
	const projects = new Map<string, Project>();

	return {
		handlers: {
			code_status: ({ runtime }, _, { call: { signal } }) =>
				withIndex(runtime.cwd, async (index) => {
					const { state } = await index.status();
					if (state !== "ready") return { state };
					// Coverage comes with every answer; a one-word search is the cheapest.
					const { coverage } = await index.search({ query: "index", limit: 1 }, { signal });
					return withoutFolders({ state, coverage }) as ResponseData["code_status"];
				}),
			code_search: (live, command, { call }) => ask(live, call, "search", fieldsOf(command)),
			code_deps: (live, command, { call }) => ask(live, call, "dependencies", fieldsOf(command)),
			code_usages: (live, command, { call }) => ask(live, call, "usages", fieldsOf(command)),
		} satisfies Partial<SessionHandlers>,
		async close() {
			const all = [...projects.values()];
			projects.clear();
			for (const { timer } of all) clearTimeout(timer);
			await Promise.all(all.map(({ index }) => index.close()));
		},
	};

	async function ask<Type extends CommandType, Name extends QuestionName>(
		{ runtime }: LiveSession,
		{ signal }: Call<Type>,
		question: Name,
		query: QueryOf<Name>,
	): Promise<ResponseData[Type]> {
		return withIndex(runtime.cwd, async (index) => {
			const asked: IndexQueries = index;
			if ((await index.status()).state !== "ready") await index.build({ signal });
			return withoutFolders(await asked[question](query, { signal })) as ResponseData[Type];
		});
	}

	async function withIndex<Answer>(
		cwd: string,
		work: (index: CodeIndex) => Promise<Answer>,
	): Promise<Answer> {
		let project = projects.get(cwd);
		try {
			project ??= { index: open({ root: cwd }), asking: 0 };
			projects.set(cwd, project);
			clearTimeout(project.timer);
			project.asking++;
			return await work(project.index);
		} catch (error) {
			throw asFailure(error);
		} finally {
			if (project) leave(cwd, project);
		}
	}

	function leave(cwd: string, project: Project): void {
		if (--project.asking > 0 || projects.get(cwd) !== project) return;
		project.timer = setTimeout(() => {
			projects.delete(cwd);
			void project.index.close();
		}, idleMs);
		project.timer.unref();
	}
}

/** Hides the server's index folder from clients. */
function withoutFolders<Answer extends { readonly coverage?: Coverage }>(answer: Answer): unknown {
	const { coverage } = answer;
	if (!coverage?.notStored) return answer;
	const notStored = { reason: safeText(coverage.notStored.reason) };
	return { ...answer, coverage: { ...coverage, notStored } };
}

/** Drops unknown fields: they were not validated. */
function fieldsOf<Fields extends { type: CommandType }>(command: Fields): Fields {
	const known = rowOf(command.type)?.fields.properties ?? {};
	const given = Object.entries(command).filter(([name]) => Object.hasOwn(known, name));
	return Object.fromEntries(given) as Fields;
}

interface Project {
	readonly index: CodeIndex;
	asking: number;
	timer?: NodeJS.Timeout;
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

function asFailure(error: unknown): CommandError {
	const code = error instanceof CodeIndexError ? CODES[error.code] : "failed";
	return new CommandError(code, safeText(error), { cause: error });
}
