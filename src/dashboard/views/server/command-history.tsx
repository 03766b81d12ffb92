import { useState } from "preact/hooks";
import type { CommandHistoryEntry } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Button } from "../../parts/button.tsx";
import { ago, formatLatency } from "../../parts/figures.ts";
import { Answered } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Section, useNow } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";

const FIRST = 25;
const MOST = 500;

export function CommandHistory() {
	const [limit, setLimit] = useState(FIRST);
	const asked = useAnswer("get_command_history", { limit });
	const { isAsking, refresh } = asked;
	const now = useNow();
	const more = () => setLimit(Math.min(MOST, limit * 4));
	return (
		<Section
			title="Commands"
			aside={<Button class="small" disabled={isAsking} onClick={refresh} words="Refresh" />}
		>
			<Answered asked={asked}>
				{({ entries, truncated }) => (
					<>
						{entries.length === 0 ? (
							<p class="soft">The journal holds no command yet.</p>
						) : (
							<Table
								label="The latest commands"
								rows={entries}
								keyOf={({ commandId, atMs }) => `${commandId} ${atMs}`}
								columns={[...COLUMNS, ["When", ({ atMs }) => ago(atMs, now), "soft"]]}
							/>
						)}
						{truncated && limit < MOST && (
							<Button class="small" disabled={isAsking} onClick={more} words="Show more" />
						)}
					</>
				)}
			</Answered>
		</Section>
	);
}

const COLUMNS: Columns<CommandHistoryEntry> = [
	{
		title: "Command",
		cell: ({ commandType }) => <PlainText class="mono" text={commandType} most={80} />,
		isRowHeader: true,
		class: "plain",
	},
	{
		title: "Session",
		cell: ({ sessionId = "" }) => <PlainText text={sessionId} most={60} />,
		class: "soft roomy",
	},
	{ title: "Outcome", cell: (entry) => <Outcome entry={entry} />, class: "wide" },
	[
		"Took",
		({ atMs, finishedAtMs: end }) => (end === undefined ? "" : formatLatency(end - atMs)),
		"roomy",
	],
];

function Outcome({ entry }: { entry: CommandHistoryEntry }) {
	if (entry.finishedAtMs === undefined) return <span class="soft">under way</span>;
	if (entry.success !== false) return <span class="good">done</span>;
	return (
		<span class="bad">
			{entry.code ?? "failed"}{" "}
			{entry.error !== undefined && <PlainText text={entry.error} most={200} />}
		</span>
	);
}
