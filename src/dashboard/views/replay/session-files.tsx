import { useEffect, useRef, useState } from "preact/hooks";
import type { Data, ResponseData } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { client } from "../../connection/connection.ts";
import { Button, TextButton } from "../../parts/controls.tsx";
import { ago, bytes, shortPath } from "../../parts/figures.ts";
import { Answered, orToast } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Section, useNow } from "../section.tsx";
import { Table } from "../table.tsx";

type SessionFile = Data<"SessionFile">;
type Page = ResponseData["list_agent_sessions"];

/** The session files that `strata replay --find` lists, a page at a time. */
export function SessionFiles({ onPick }: { onPick(file: SessionFile): void }) {
	const [filter, setFilter] = useState("");
	const { answer, page, showMore } = usePages(useSettled(filter.trim(), FILTER_MS));
	const now = useNow();
	return (
		<Section
			title="Session files on the server"
			aside={
				<input
					type="search"
					class="file-filter"
					aria-label="Filter the session files"
					placeholder="Agent, project or file name"
					maxLength={200}
					value={filter}
					onInput={(event) => setFilter(event.currentTarget.value)}
				/>
			}
		>
			<Answered answer={answer} waiting={page ? "" : "Looking for session files…"}>
				{({ files }) => files.length === 0 && <p class="soft">{emptyText(filter)}</p>}
			</Answered>
			{page && page.files.length > 0 && (
				<Table
					label="Session files"
					rows={page.files}
					keyOf={({ fileId }) => fileId}
					columns={[
						{
							title: "Session",
							cell: (file) => (
								<>
									<TextButton onClick={() => onPick(file)} text={nameOf(file)} max={120} />
									{file.project !== undefined && (
										<PlainText class="soft small block" text={shortPath(file.project)} max={120} />
									)}
								</>
							),
							class: "wide",
						},
						{
							title: "Agent",
							cell: ({ agent }) => <PlainText text={AGENTS.get(agent) ?? agent} max={40} />,
							class: "soft",
						},
						["Size", (file) => bytes(file.bytes), "roomy"],
						["Last used", ({ lastUseMs }) => ago(lastUseMs, now), "soft"],
					]}
				/>
			)}
			{page?.next !== undefined && <Button class="small" onClick={showMore} label="Show more" />}
		</Section>
	);
}

const AGENTS: ReadonlyMap<string, string> = new Map([
	["claude-code", "Claude Code"],
	["codex", "Codex"],
	["gemini-cli", "Gemini CLI"],
	["openclaw", "OpenClaw"],
]);

export function nameOf({ title, name }: Pick<SessionFile, "title" | "name">): string {
	return title || name;
}

export function emptyText(filter: string): string {
	return filter.trim()
		? "No session file has all of these words in its agent, project or name."
		: "There are no session files of pi, Claude Code, Codex, opencode or Gemini CLI.";
}

/** Adds the next page. A file that was used meanwhile keeps its row. */
export function withNext(page: Page, next: Page): Page {
	const known = new Set(page.files.map(({ fileId }) => fileId));
	return { ...next, files: [...page.files, ...next.files.filter((one) => !known.has(one.fileId))] };
}

/** While another filter is loading, the page before it stays. */
function usePages(filter: string) {
	const answer = useAnswer("list_agent_sessions", { filter });
	const [page, setPage] = useState<Page>();
	const shown = useRef(page);
	shown.current = page;
	useEffect(() => {
		if (answer.data) setPage(answer.data);
	}, [answer.data]);

	async function showMore(): Promise<void> {
		const after = page?.next;
		if (page === undefined || after === undefined) return;
		const more = await orToast(client().request("list_agent_sessions", { filter, after }));
		// Another filter may have replaced the page.
		if (more && shown.current === page) setPage(withNext(page, more.data));
	}

	return { answer, page, showMore };
}

const FILTER_MS = 200;

/** The value once it has not changed for a while. */
function useSettled(value: string, ms: number): string {
	const [settled, setSettled] = useState(value);
	useEffect(() => {
		const timer = setTimeout(() => setSettled(value), ms);
		return () => clearTimeout(timer);
	}, [value, ms]);
	return settled;
}
