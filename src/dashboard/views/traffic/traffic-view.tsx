import "./traffic.css";
import { useEffect, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { client } from "../../connection/connection.ts";
import { Button } from "../../parts/controls.tsx";
import { ago, formatCount, formatNumberOf, formatShare, short } from "../../parts/figures.ts";
import { Answered } from "../../parts/notices.tsx";
import { PlainText } from "../../parts/text.tsx";
import { hrefOf, route } from "../../route.ts";
import { causeName } from "../cost/cost-charts.tsx";
import { Figures, Section, useNow } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";
import { ConversationReport } from "./conversation-report.tsx";
import {
	billFigures,
	cachedShare,
	concerns,
	conversationName,
	conversationRows,
	costText,
	sumOf,
} from "./conversations.ts";

export function TrafficView() {
	const shown = route.value.page === "traffic" ? route.value.conversation : undefined;
	return shown === undefined ? (
		<Conversations />
	) : (
		<OneConversation key={shown} conversation={shown} />
	);
}

const FIRST_CONVERSATIONS = 50;
const MAX_CONVERSATIONS = 500;

function Conversations() {
	const [limit, setLimit] = useState(FIRST_CONVERSATIONS);
	const version = useBilled();
	const answer = useAnswer("list_conversations", { limit }, version);
	const more = () => setLimit(Math.min(MAX_CONVERSATIONS, limit * 4));
	return (
		<div class="sheet view">
			<h1>Traffic</h1>
			<p class="soft">
				What agents sent through strata's proxy: cost, cache and misses, without any texts.
			</p>
			<Answered answer={answer} waiting="Loading…">
				{({ conversations, truncated }) =>
					conversations.length === 0 ? (
						<FirstSteps />
					) : (
						<>
							<Section
								title={
									truncated
										? `The latest ${formatNumberOf(conversations.length, "conversation")}`
										: "All conversations"
								}
							>
								<Figures figures={billFigures(sumOf(conversations))} />
							</Section>
							<Section title="Conversations">
								<ConversationTable conversations={conversations} />
								{truncated && limit < MAX_CONVERSATIONS && (
									<Button
										class="small"
										disabled={answer.isLoading}
										onClick={more}
										label="Show more"
									/>
								)}
								{truncated && limit === MAX_CONVERSATIONS && (
									<p class="soft small">Only the latest conversations are shown.</p>
								)}
							</Section>
						</>
					)
				}
			</Answered>
		</div>
	);
}

function FirstSteps() {
	return (
		<Section title="No conversations yet">
			<p>Run an agent through strata's proxy, and its requests appear here:</p>
			<dl class="first-steps">
				<dt>
					<code>strata run -- claude</code>
				</dt>
				<dd>for one run of one agent: claude, codex, gemini or opencode</dd>
				<dt>
					<code>strata proxy</code>
				</dt>
				<dd>for agents that you point at it; it prints the addresses</dd>
			</dl>
		</Section>
	);
}

/** A conversation used within this time is active. Most caches live as long. */
const ACTIVE_MS = 5 * 60_000;

function ConversationTable({
	conversations,
}: {
	conversations: readonly Data<"ListedConversation">[];
}) {
	const now = useNow();
	const columns: Columns<Data<"ListedConversation">> = [
		{
			title: "Conversation",
			cell: (one) => (
				<span class={one.parent === undefined ? "" : "below-main"}>
					<a href={hrefOf({ page: "traffic", conversation: one.id })}>
						<PlainText text={conversationName(one)} max={80} />
					</a>{" "}
					{now - one.usedMs < ACTIVE_MS && <span class="tag is-good">active</span>}
				</span>
			),
			isRowHeader: true,
		},
		{
			title: "Model",
			cell: ({ model }) => <PlainText text={model} max={80} />,
			class: "wide roomy",
		},
		["Requests", ({ requests }) => formatCount(requests), "roomy"],
		["Context", ({ context }) => short(context), "roomy"],
		["Cost", costText],
		["Cached", (one) => formatShare(cachedShare(one))],
		["Misses", ({ misses }) => formatCount(misses), "roomy"],
		{
			title: "Last miss",
			cell: ({ lastMiss }) =>
				lastMiss && <PlainText class="cause" text={causeName(lastMiss.cause)} max={80} />,
			class: "roomy",
		},
		["Used", ({ usedMs }) => ago(usedMs, now), "soft"],
	];
	return (
		<Table
			label="Conversations of agents"
			rows={conversationRows(conversations)}
			keyOf={({ id }) => id}
			columns={columns}
		/>
	);
}

function OneConversation({ conversation }: { conversation: number }) {
	const version = useBilled(conversation);
	const answer = useAnswer("get_conversation", { conversation }, version);
	return (
		<div class="sheet view">
			<p>
				<a href={hrefOf({ page: "traffic" })}>All conversations</a>
			</p>
			<Answered answer={answer} waiting="Loading…">
				{(report) => <ConversationReport report={report} />}
			</Answered>
		</div>
	);
}

/**
 * Grows with each request that is booked, of one conversation or of all. Call it before `useAnswer`: the
 * server then reports every request that the answer lacks.
 */
function useBilled(conversation?: number): number {
	const [count, setCount] = useState(0);
	useEffect(
		() =>
			client().onRequestBilled((billed) => {
				if (concerns(billed, conversation)) setCount((before) => before + 1);
			}),
		[conversation],
	);
	return count;
}
