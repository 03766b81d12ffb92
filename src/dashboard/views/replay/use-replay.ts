import { useEffect, useRef, useState } from "preact/hooks";
import type { ReplayReport, StoredSession } from "../../../protocol/index.ts";
import { client } from "../../connection/connection.ts";
import { textOf } from "../../error-text.ts";
import { replayProblem, sizeProblem } from "./report.ts";

/** Where a replay is. `file` is how people call it. */
export type ReplayState =
	| { name: "idle" }
	| { name: "running"; file: string }
	| { name: "failed"; why: string }
	| { name: "done"; file: string; report: ReplayReport };

/** One replay at a time: another one takes the place of the one before. */
export function useReplay() {
	const [state, setState] = useState<ReplayState>({ name: "idle" });
	const running = useRef<AbortController>(undefined);
	useEffect(() => () => running.current?.abort(), []);

	async function run(
		file: string,
		fieldsOf: () => Promise<{ content: string } | { sessionPath: string }>,
	): Promise<void> {
		running.current?.abort();
		const own = new AbortController();
		running.current = own;
		setState({ name: "running", file });
		let next: ReplayState;
		try {
			const fields = await fieldsOf();
			const { data } = await client().request("replay_session", fields, { signal: own.signal });
			next = { name: "done", file, report: data };
		} catch (error) {
			next = { name: "failed", why: replayProblem(textOf(error), file) };
		}
		if (!own.signal.aborted) setState(next);
	}

	return {
		state,
		replayFile: (file: File) => run(file.name, async () => ({ content: await contentOf(file) })),
		replayStored: ({ sessionPath, sessionName, firstMessage }: StoredSession) =>
			run(sessionName ?? firstMessage ?? sessionPath, async () => ({ sessionPath })),
		stop() {
			running.current?.abort();
			setState({ name: "idle" });
		},
	};
}

async function contentOf(file: File): Promise<string> {
	const known = { name: file.name, bytes: file.size };
	const early = sizeProblem(known);
	if (early !== undefined) throw new Error(early);
	const content = await file.text();
	const late = sizeProblem({ ...known, characters: content.length });
	if (late !== undefined) throw new Error(late);
	return content;
}
