import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Fold } from "../../parts/controls.tsx";
import { ago, formatPrice, formatShare, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import {
	causeName,
	MissTable,
	numbersOf,
	PromptChart,
	TOKEN_COLUMNS,
} from "../cost/cost-charts.tsx";
import { Figures, Section, useNow } from "../section.tsx";
import { type Columns, Rest, Table } from "../table.tsx";
import { billFigures, conversationName, requestNote } from "./conversations.ts";

type Report = Data<"TrafficReport">;

export function ConversationReport({ report }: { report: Report }) {
	const { conversation, requests, window } = report;
	const bills = useMemo(() => ({ requests, totals: conversation }), [report]);
	return (
		<>
			<h1>
				<PlainText text={conversationName(conversation)} max={80} />
			</h1>
			<Totals conversation={conversation} />
			<PromptChart cost={bills} />
			<RequestTable report={report} />
			<MissTable cost={bills} />
			<div class="two-columns">
				<WindowParts by="tool" name="Tool or kind" shares={window.byTool} />
				<WindowParts by="file" name="File" shares={window.byFile} />
			</div>
			<p class="soft small">
				Dollars are list prices. What fills the prompt is measured in bytes; its tokens are the same
				share of the billed prompt.
			</p>
		</>
	);
}

function Totals({ conversation }: { conversation: Report["conversation"] }) {
	const now = useNow();
	const { context, model, usedMs } = conversation;
	return (
		<Section title="So far" aside={<span class="soft small">last used {ago(usedMs, now)}</span>}>
			<Figures
				figures={[
					...billFigures(conversation),
					["Latest prompt", short(context), <PlainText key="model" text={model} max={80} />],
				]}
			/>
		</Section>
	);
}

type NumberedRequest = readonly [number: number, request: Data<"TrafficRequest">];

function RequestTable({ report: { requests, conversation } }: { report: Report }) {
	const [isOpen, setIsOpen] = useState(false);
	const now = useNow();
	const numbers = numbersOf({ requests, totals: conversation });
	const rows = requests
		.map((request, at): NumberedRequest => [numbers[at] ?? 0, request])
		.toReversed();
	const columns: Columns<NumberedRequest> = [
		...TOKEN_COLUMNS,
		["Cost", ([, { cost }]) => cost && formatPrice(cost)],
		{
			title: "Miss",
			cell: ([, { miss }]) => miss && <PlainText text={causeName(miss.cause)} max={80} />,
		},
		{
			title: "Note",
			cell: ([, request]) => <PlainText text={requestNote(request)} max={200} />,
			class: "wide",
		},
		["When", ([, { atMs }]) => ago(atMs, now), "soft"],
	];
	return (
		<div class="card all-columns">
			<Fold summary="Requests as a table" isOpen={isOpen} onToggle={setIsOpen}>
				<Table
					label="The latest requests"
					rows={rows}
					maxRows={50}
					more={200}
					keyOf={([, { id }]) => id}
					columns={columns}
				/>
				<Rest count={conversation.requests - requests.length} />
			</Fold>
		</div>
	);
}

type Part = Report["window"]["byTool"]["parts"][number];

interface WindowPartsProps {
	readonly by: string;
	readonly name: string;
	readonly shares: Report["window"]["byTool"];
}

function WindowParts({ by, name, shares: { parts, more } }: WindowPartsProps) {
	const largest = Math.max(...parts.map(({ share }) => share), 0);
	const columns: Columns<Part> = [
		{
			title: name,
			cell: (part) => <PlainText text={part.name} max={300} />,
			isRowHeader: true,
			class: "wide plain",
		},
		{
			title: "As a bar",
			hidesTitle: true,
			cell: ({ share }) => (
				<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
					<rect
						width={largest > 0 ? (share / largest) * 100 : 0}
						height="10"
						fill="var(--series-1)"
					/>
				</svg>
			),
			class: "share-bar",
		},
		["Share", ({ share }) => formatShare(share)],
		["Tokens", ({ tokens }) => short(tokens)],
	];
	return (
		<Section title={`The latest prompt by ${by}`}>
			{parts.length === 0 ? (
				<p class="soft">Nothing is known.</p>
			) : (
				<Table
					label={`Shares by ${by}`}
					rows={parts}
					maxRows={12}
					more={20}
					keyOf={(part) => part.name}
					columns={columns}
				/>
			)}
			<Rest count={more} />
		</Section>
	);
}
