import { useState } from "preact/hooks";
import type { CommandHistoryEntry } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Button } from "../../parts/button.tsx";
import { ago, formatLatency } from "../../parts/figures.ts";
import { Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { Section, useNow } from "../section.tsx";
import { Table } from "../table.tsx";

const FIRST = 25;
const MOST = 500;

/** The latest commands as the journal remembers them. */
export function CommandHistory() {
	const [limit, setLimit] = useState(FIRST);
	const { data, error, isAsking, refresh } = useAnswer("get_command_history", { limit });
	const now = useNow();
	return (
		<Section
			title="Commands"
			aside={<Button class="small" disabled={isAsking} onClick={refresh} words="Refresh" />}
		>
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{data?.entries.length === 0 && <p class="soft">The journal holds no command yet.</p>}
			{data && data.entries.length > 0 && (
				<Table
					label="The latest commands"
					rows={data.entries}
					keyOf={({ commandId, atMs }) => `${commandId} ${atMs}`}
					columns={[
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
						{
							title: "Took",
							cell: ({ atMs, finishedAtMs }) =>
								finishedAtMs === undefined ? "" : formatLatency(finishedAtMs - atMs),
							align: "right",
							class: "roomy",
						},
						{ title: "When", cell: ({ atMs }) => ago(atMs, now), align: "right", class: "soft" },
					]}
				/>
			)}
			{data?.truncated && limit < MOST && (
				<Button
					class="small"
					disabled={isAsking}
					onClick={() => setLimit(Math.min(MOST, limit * 4))}
					words="Show more"
				/>
			)}
		</Section>
	);
}

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
