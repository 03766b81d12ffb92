import { useState } from "preact/hooks";
import type { CommandHistoryEntry } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { ago } from "../../parts/figures.ts";
import { Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { formatLatency } from "../format.ts";
import { Section, TableBox } from "../section.tsx";
import { useNow } from "../use-now.ts";

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
			aside={
				<button type="button" class="small" disabled={isAsking} onClick={refresh}>
					Refresh
				</button>
			}
		>
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{data?.entries.length === 0 && <p class="soft">The journal holds no command yet.</p>}
			{data && data.entries.length > 0 && (
				<TableBox label="The latest commands">
					<thead>
						<tr>
							<th scope="col">Command</th>
							<th scope="col" class="roomy">
								Session
							</th>
							<th scope="col">Outcome</th>
							<th scope="col" class="right">
								Took
							</th>
							<th scope="col" class="right">
								When
							</th>
						</tr>
					</thead>
					<tbody>
						{data.entries.map((entry) => (
							<tr key={`${entry.commandId} ${entry.atMs}`}>
								<th scope="row" class="plain mono">
									<PlainText text={entry.commandType} most={80} />
								</th>
								<td class="soft roomy">
									{entry.sessionId !== undefined && <PlainText text={entry.sessionId} most={60} />}
								</td>
								<td class="wide">
									<Outcome entry={entry} />
								</td>
								<td class="right">
									{entry.finishedAtMs === undefined
										? ""
										: formatLatency(entry.finishedAtMs - entry.atMs)}
								</td>
								<td class="right soft">{ago(entry.atMs, now)}</td>
							</tr>
						))}
					</tbody>
				</TableBox>
			)}
			{data?.truncated && limit < MOST && (
				<button
					type="button"
					class="small"
					disabled={isAsking}
					onClick={() => setLimit(Math.min(MOST, limit * 4))}
				>
					Show more
				</button>
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
