import { useState } from "preact/hooks";
import type { StoredSession } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { ago, shortPath } from "../../parts/figures.ts";
import { Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { formatCount } from "../format.ts";
import { Section } from "../section.tsx";
import { Table } from "../table.tsx";
import { useNow } from "../use-now.ts";

const FIRST = 20;

interface StoredSessionsProps {
	isBusy: boolean;
	onPick(session: StoredSession): void;
}

/** The sessions of the server's folder, the latest first; each can be replayed. */
export function StoredSessions({ isBusy, onPick }: StoredSessionsProps) {
	const { data, error, refresh } = useAnswer("list_stored_sessions", {});
	const [most, setMost] = useState(FIRST);
	const now = useNow();
	const sessions = data?.sessions.filter(({ fileExists }) => fileExists) ?? [];
	return (
		<Section title="From the sessions folder">
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{data && sessions.length === 0 && <p class="soft">The sessions folder is empty.</p>}
			{sessions.length > 0 && (
				<Table
					label="Stored sessions"
					rows={sessions.slice(0, most)}
					keyOf={({ sessionPath }) => sessionPath}
					columns={[
						{
							title: "Session",
							cell: (session) => (
								<button
									type="button"
									class="link"
									disabled={isBusy}
									onClick={() => onPick(session)}
								>
									<PlainText text={nameOf(session)} most={120} />
								</button>
							),
							class: "wide",
						},
						{
							title: "Folder",
							cell: ({ cwd }) => <PlainText text={shortPath(cwd)} most={80} />,
							class: "soft",
						},
						{
							title: "Messages",
							cell: ({ messageCount }) => formatCount(messageCount),
							align: "right",
							class: "roomy",
						},
						{
							title: "Last used",
							cell: ({ modifiedAt }) => ago(Date.parse(modifiedAt) || 0, now),
							align: "right",
							class: "soft",
						},
					]}
				/>
			)}
			{sessions.length > most && (
				<button type="button" class="small" onClick={() => setMost(most + 100)}>
					Show more ({formatCount(sessions.length - most)} left)
				</button>
			)}
			{data?.truncated && <p class="soft small">There are more; these are the latest.</p>}
		</Section>
	);
}

function nameOf({ sessionName, firstMessage, sessionPath }: StoredSession): string {
	return sessionName || firstMessage || sessionPath;
}
