import { useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Button } from "../../parts/controls.tsx";
import { ago, baseName, formatLatency } from "../../parts/figures.ts";
import { Answered } from "../../parts/notices.tsx";
import { PlainText, visibleString } from "../../parts/text.tsx";
import { DEFAULT_VIEW, hrefOf } from "../../route.ts";
import { Choice, Section, useNow } from "../section.tsx";
import { type Column, type Columns, Table } from "../table.tsx";

export interface SessionNames {
	/** By the id of the session. */
	readonly names: ReadonlyMap<string, string>;
}

const FIRST_COMMANDS = 25;
const MAX_COMMANDS = 500;

/** The commands in the journal, by session and kind. */
export function RecentCommands({ names }: SessionNames) {
	const [limit, setLimit] = useState(FIRST_COMMANDS);
	const [session, setSession] = useState("");
	const [shown, setShown] = useState<Shown>("changes");
	// More than are shown, because most commands are reads.
	const asked = shown === "all" ? limit : MAX_COMMANDS;
	const fields = { limit: asked, ...(session !== "" && { sessionIdFilter: session }) };
	const answer = useAnswer("get_command_history", fields);
	const { isLoading, refresh } = answer;
	const now = useNow();
	const more = () => setLimit(Math.min(MAX_COMMANDS, limit * 4));
	return (
		<Section
			title="Commands"
			aside={<Button class="small" disabled={isLoading} onClick={refresh} label="Refresh" />}
		>
			<div class="row">
				<Choice
					label="Which commands"
					values={{ changes: "Changes", failed: "Failed", all: "All" }}
					chosen={shown}
					onChoose={setShown}
				/>
				<select
					aria-label="Session"
					value={session}
					onChange={(event) => setSession(event.currentTarget.value)}
				>
					<option value="">All sessions</option>
					{[...names].map(([id, name]) => (
						<option key={id} value={id}>
							{visibleString(name)}
						</option>
					))}
				</select>
			</div>
			<Answered answer={answer}>
				{({ entries, truncated }) => {
					const wanted = entries.filter((entry) => isShown(entry, shown));
					return (
						<>
							{wanted.length === 0 ? (
								<p class="soft">
									{entries.length === 0
										? "There are no commands in the journal yet."
										: "None of the latest commands is of this kind."}
								</p>
							) : (
								<Table
									label="The latest commands"
									rows={wanted.slice(0, limit)}
									keyOf={({ commandId, atMs }) => `${commandId} ${atMs}`}
									columns={[
										COMMAND_COLUMN,
										{
											title: "Session",
											cell: ({ sessionId }) =>
												sessionId !== undefined && (
													<SessionName id={sessionId} name={names.get(sessionId)} />
												),
											class: "soft roomy",
										},
										...COLUMNS,
										["When", ({ atMs }) => ago(atMs, now), "soft"],
									]}
								/>
							)}
							{(wanted.length > limit || truncated) && limit < MAX_COMMANDS && (
								<Button class="small" disabled={isLoading} onClick={more} label="Show more" />
							)}
						</>
					);
				}}
			</Answered>
		</Section>
	);
}

type Shown = "changes" | "failed" | "all";

/** Reads say what the page shows; changes are what happened. */
export function isShown(
	{ commandType, success }: Pick<Data<"CommandHistoryEntry">, "commandType" | "success">,
	shown: Shown,
): boolean {
	if (shown === "all") return true;
	if (shown === "failed") return success === false;
	return !/^(get_|list_|code_|health_|subscribe|unsubscribe|switch_session$)/.test(commandType);
}

/** The names of sessions, by id. A number distinguishes sessions of one name. */
export function sessionNames(
	sessions: readonly Pick<Data<"SessionInfo">, "sessionId" | "sessionName" | "cwd">[],
): Map<string, string> {
	const seen = new Map<string, number>();
	return new Map(
		sessions.map(({ sessionId, sessionName, cwd }) => {
			const name = sessionName ?? baseName(cwd);
			const count = (seen.get(name) ?? 0) + 1;
			seen.set(name, count);
			return [sessionId, count === 1 ? name : `${name} (${count})`];
		}),
	);
}

export function SessionName({ id, name }: { id: string; name: string | undefined }) {
	// A deleted session has no name any more.
	if (name === undefined) return <PlainText text={id} max={60} />;
	return (
		<a href={hrefOf({ page: "session", sessionId: id, view: DEFAULT_VIEW })}>
			<PlainText text={name} max={60} />
		</a>
	);
}

const COMMAND_COLUMN: Column<Data<"CommandHistoryEntry">> = {
	title: "Command",
	cell: ({ commandType }) => <PlainText class="mono" text={commandType} max={80} />,
	isRowHeader: true,
	class: "plain",
};

const COLUMNS: Columns<Data<"CommandHistoryEntry">> = [
	{ title: "Outcome", cell: (entry) => <Outcome entry={entry} />, class: "wide" },
	[
		"Duration",
		({ atMs, finishedAtMs: end }) => (end === undefined ? "" : formatLatency(end - atMs)),
		"roomy",
	],
];

function Outcome({ entry }: { entry: Data<"CommandHistoryEntry"> }) {
	if (entry.finishedAtMs === undefined) return <span class="soft">in flight</span>;
	if (entry.success !== false) return <span class="good">done</span>;
	return (
		<span class="bad">
			{entry.code ?? "failed"}{" "}
			{entry.error !== undefined && <PlainText text={entry.error} max={200} />}
		</span>
	);
}
