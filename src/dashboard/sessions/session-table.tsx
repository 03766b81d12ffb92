import type { SessionInfo } from "../../protocol/index.ts";
import { ago, baseName, dollars } from "../parts/figures.ts";
import { PlainText } from "../parts/text.tsx";
import { visibleString } from "../parts/visible-text.ts";
import { FIRST_VIEW, hrefOf } from "../route.ts";
import { formatCount } from "../views/format.ts";

interface SessionTableProps {
	sessions: readonly SessionInfo[];
	costs: ReadonlyMap<string, number>;
	/** How each session without a name began. */
	beginnings: ReadonlyMap<string, string>;
	onDelete(session: SessionInfo): void;
}

/** The open sessions: what they are doing, with which model, for how much. */
export function SessionTable({ sessions, costs, beginnings, onDelete }: SessionTableProps) {
	return (
		<table class="sessions">
			<thead>
				<tr>
					<th scope="col">Session</th>
					<th scope="col">State</th>
					<th scope="col">Model</th>
					<th scope="col" class="right">
						Messages
					</th>
					<th scope="col" class="right">
						Cost
					</th>
					<th scope="col">Made</th>
					<th scope="col">
						<span class="hidden-text">Actions</span>
					</th>
				</tr>
			</thead>
			<tbody>
				{sessions.map((session) => (
					<SessionLine
						key={session.sessionId}
						session={session}
						cost={costs.get(session.sessionId)}
						beginning={session.sessionName ? undefined : beginnings.get(session.sessionId)}
						onDelete={() => onDelete(session)}
					/>
				))}
			</tbody>
		</table>
	);
}

interface SessionLineProps {
	session: SessionInfo;
	cost: number | undefined;
	beginning: string | undefined;
	onDelete(): void;
}

function SessionLine({ session, cost, beginning, onDelete }: SessionLineProps) {
	const { sessionId, sessionName, cwd, model, isStreaming, messageCount, createdAt } = session;
	const name = sessionName ?? baseName(cwd);
	return (
		<tr>
			<td class="session-cell">
				<a href={hrefOf({ page: "session", sessionId, view: FIRST_VIEW })}>
					<PlainText text={name} most={120} />
				</a>
				{beginning !== undefined && (
					<span class="small soft">
						“<PlainText text={beginning} most={100} />”
					</span>
				)}
				<span class="small soft" title={visibleString(cwd)}>
					<PlainText text={cwd} most={200} />
				</span>
			</td>
			<td data-label="State">
				<span class="row state">
					<span class={isStreaming ? "dot is-running pulse" : "dot"} aria-hidden="true" />
					{isStreaming ? "Working" : "Idle"}
				</span>
			</td>
			<td data-label="Model">
				{model ? <PlainText text={`${model.provider}/${model.id}`} most={80} /> : "none"}
			</td>
			<td data-label="Messages" class="right number">
				{formatCount(messageCount)}
			</td>
			<td data-label="Cost" class="right number">
				{cost === undefined ? "–" : dollars(cost)}
			</td>
			<td data-label="Made" class="soft">
				{ago(Date.parse(createdAt), Date.now())}
			</td>
			<td class="right">
				<button
					type="button"
					class="quiet small"
					aria-label={`Delete ${visibleString(name)}`}
					onClick={onDelete}
				>
					Delete
				</button>
			</td>
		</tr>
	);
}
