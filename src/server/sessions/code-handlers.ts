import {
	type Asked,
	type CodeIndex,
	CodeIndexError,
	type Coverage,
	openCodeIndex,
	type QueryOf,
	type QuestionName,
} from "../../codeindex/index.ts";
import { type CommandType, type Data, type ResponseData, rowOf } from "../../protocol/index.ts";
import { type Call, CommandError } from "../engine/call.ts";
import { safeText } from "../safe-text.ts";
import type { SessionHandlers } from "./slot.ts";

/** One index per project, shared by all its sessions. */
export interface CodeHandlers {
	readonly handlers: SessionHandlers<"code_status" | "code_search" | "code_deps" | "code_usages">;
	close(): Promise<void>;
}

const IDLE_MS = 60_000;

export function createCodeHandlers(open = openCodeIndex, idleMs = IDLE_MS): CodeHandlers {
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
			code_search: ({ runtime }, command, { call }) =>
				ask(runtime.cwd, call, "search", fieldsOf("code_search", command)),
			code_deps: ({ runtime }, command, { call }) =>
				ask(runtime.cwd, call, "dependencies", fieldsOf("code_deps", command)),
			code_usages: ({ runtime }, command, { call }) =>
				ask(runtime.cwd, call, "usages", fieldsOf("code_usages", command)),
		},
		async close() {
			const all = [...projects.values()];
			projects.clear();
			for (const { timer } of all) clearTimeout(timer);
			await Promise.all(all.map(({ index }) => index.close()));
		},
	};

	async function ask<Type extends CommandType, Name extends QuestionName>(
		cwd: string,
		{ signal }: Call<Type>,
		question: Name,
		query: QueryOf<Name>,
	): Promise<ResponseData[Type]> {
		return withIndex(cwd, async (index: CodeIndex) => {
			const asked: Asked = index;
			if ((await index.status()).state !== "ready") await index.build({ signal });
			return withoutFolders(await asked[question](query, { signal })) as ResponseData[Type];
		});
	}

	async function withIndex<Answer>(
		cwd: string,
		work: (index: CodeIndex) => Promise<Answer>,
	): Promise<Answer> {
		let project: Project | undefined;
		try {
			project = enter(cwd);
			return await work(project.index);
		} catch (error) {
			throw asFailure(error);
		} finally {
			if (project) leave(cwd, project);
		}
	}

	function enter(cwd: string): Project {
		const project = projects.get(cwd) ?? { index: open({ root: cwd }), asking: 0 };
		projects.set(cwd, project);
		clearTimeout(project.timer);
		project.asking++;
		return project;
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
function fieldsOf<Fields extends object>(type: CommandType, command: Fields): Fields {
	const known = rowOf(type)?.fields.properties ?? {};
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
