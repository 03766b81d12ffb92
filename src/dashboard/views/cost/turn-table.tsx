import type { Data } from "../../../protocol/index.ts";
import { csvDollars } from "../../../text/csv.ts";
import { Button } from "../../parts/controls.tsx";
import { downloadCsv } from "../../parts/download.ts";
import { dollarsAligned, formatCount, formatShare, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { DEFAULT_VIEW, hrefOf } from "../../route.ts";
import { Section } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";

type Turn = Data<"CostTurn">;

interface TurnTableProps {
	readonly cost: Pick<Data<"Cost">, "turns">;
	readonly sessionId: string;
	readonly hasMadeUpPrices: boolean;
}

/** What each message of the user cost, with all its requests. */
export function TurnTable({ cost, sessionId, hasMadeUpPrices }: TurnTableProps) {
	const turns = cost.turns?.toReversed() ?? [];
	if (turns.length === 0) return null;
	const isPriced = turns.some((turn) => turn.dollars !== undefined);
	const hasSavings = turns.some(({ saved }) => saved?.dollars !== undefined);
	const format = dollarsAligned(turns.flatMap((turn) => [turn.dollars, turn.saved?.dollars]));
	const text = (amount: number | undefined) => (amount === undefined ? "–" : format(amount));
	const costs: Columns<Turn> = [["Cost", (turn) => text(turn.dollars)]];
	const savings: Columns<Turn> = [["Saved", ({ saved }) => text(saved?.dollars)]];
	const columns: Columns<Turn> = [
		{ title: "#", cell: ({ turn }) => turn, align: "right", isRowHeader: true },
		{
			title: "Message",
			cell: (turn) => <Message turn={turn} sessionId={sessionId} />,
			class: "wide",
		},
		["Requests", requestsText, "roomy"],
		["Prompts", (turn) => short(promptOf(turn)), "roomy"],
		["From cache", (turn) => formatShare(turn.read / Math.max(1, promptOf(turn))), "roomy"],
		["Misses", ({ misses }) => formatCount(misses), "roomy"],
		...(isPriced ? costs : []),
		...(hasSavings ? savings : []),
	];
	const download = () => downloadCsv("strata-turns", TURN_COLUMNS, turns.map(csvRow));
	return (
		<Section
			title="Cost by turn"
			isMadeUp={hasMadeUpPrices && isPriced}
			aside={<Button class="small" onClick={download} label="Download CSV" />}
		>
			<Table
				label="Turns"
				rows={turns}
				maxRows={20}
				more={100}
				keyOf={({ turn }) => turn}
				columns={columns}
			/>
		</Section>
	);
}

function Message({ turn, sessionId }: { turn: Turn; sessionId: string }) {
	const { prompt, entryId } = turn;
	const text = <PlainText text={prompt === "" ? "(no text)" : prompt} max={120} />;
	if (entryId === undefined) return text;
	return <a href={hrefOf({ page: "session", sessionId, view: DEFAULT_VIEW, entryId })}>{text}</a>;
}

function promptOf({ read, write, input }: Turn): number {
	return read + write + input;
}

function requestsText({ requests, firstRequest: first }: Turn): string {
	return requests === 1 ? String(first) : `${first}–${first + requests - 1}`;
}

const TURN_COLUMNS = [
	...["turn", "message", "first_request", "requests", "dollars", "saved_dollars"],
	...["input", "read", "write", "output", "misses"],
];

function csvRow(turn: Turn) {
	return [
		...[turn.turn, turn.prompt, turn.firstRequest, turn.requests, csvDollars(turn.dollars)],
		...[csvDollars(turn.saved?.dollars), turn.input, turn.read, turn.write, turn.output],
		turn.misses,
	];
}
