import { useState } from "preact/hooks";
import type { StoredSession } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { ago, shortPath } from "../../parts/figures.ts";
import { Problem } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { formatCount } from "../format.ts";
import { Section, TableBox } from "../section.tsx";
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
				<TableBox label="Stored sessions">
					<thead>
						<tr>
							<th scope="col">Session</th>
							<th scope="col">Folder</th>
							<th scope="col" class="right roomy">
								Messages
							</th>
							<th scope="col" class="right">
								Last used
							</th>
						</tr>
					</thead>
					<tbody>
						{sessions.slice(0, most).map((session) => (
							<tr key={session.sessionPath}>
								<td class="wide">
									<button
										type="button"
										class="link"
										disabled={isBusy}
										onClick={() => onPick(session)}
									>
										<PlainText text={nameOf(session)} most={120} />
									</button>
								</td>
								<td class="soft">
									<PlainText text={shortPath(session.cwd)} most={80} />
								</td>
								<td class="right roomy">{formatCount(session.messageCount)}</td>
								<td class="right soft">{ago(Date.parse(session.modifiedAt) || 0, now)}</td>
							</tr>
						))}
					</tbody>
				</TableBox>
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
