import { Clock } from "../parts/clock.tsx";
import { Fold, Scroller } from "../parts/controls.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { dollars, short } from "../parts/figures.ts";
import { MarkdownText } from "../parts/markdown.tsx";
import { LongText, PlainText } from "../parts/text.tsx";
import { Call } from "./call-view.tsx";
import { MadeUp } from "./demo-banner.tsx";
import type { AssistantItem, Block, Item } from "./items.ts";
import { Effect, type FoldState, Pictures, type RowActions } from "./row-parts.tsx";
import { type Turn, turnEnds } from "./turn.ts";

export function RowView({ row, actions }: { row: Row; actions: RowActions }) {
	const fold: FoldState = {
		isOpen: actions.isUnfolded(row.key),
		onToggle: (isOpen) => actions.toggle(row.key, isOpen),
	};
	if (row.kind === "outcome") return <Outcome item={row.item} />;
	if (row.kind === "turn") return <TurnBill turn={row.turn} actions={actions} />;
	if (row.kind === "item") return itemRow(row.item, fold, actions);
	const { block, item, isLast } = row;
	const isWriting = item.isStreaming && isLast;
	switch (block.kind) {
		case "call":
			return <Call call={block.call} actions={actions} fold={fold} />;
		case "thinking":
			return (
				<Fold summary={isWriting ? "Thinking…" : "Thinking"} class="thinking" {...fold}>
					<LongText text={block.text} />
				</Fold>
			);
		case "text":
			return (
				<div class="answer">
					<MarkdownText text={block.text} />
				</div>
			);
	}
}

function itemRow(item: Exclude<Item, AssistantItem>, fold: FoldState, actions: RowActions) {
	switch (item.kind) {
		case "user":
			return (
				<div class="said">
					<div class="said-head line small soft">
						<h2 class="hidden-text">You</h2>
						<CopyButton text={item.text} what="the message" />
						<Clock atMs={item.atMs} />
					</div>
					<LongText text={item.text} lines={40} />
					<Pictures pictures={item.pictures} actions={actions} />
				</div>
			);
		case "bash": {
			const outcome = {
				running: ["running…"],
				done: [],
				failed: [`exit ${item.exitCode ?? "?"}`],
				cancelled: ["cancelled"],
			}[item.state];
			const command = item.command ?? "command from another client";
			const summary = (
				<>
					<span class="call-name small">$</span> <PlainText as="code" text={command} max={200} />
					<Effect words={outcome} />
				</>
			);
			return (
				<Fold class={`call is-${item.state}`} summary={summary} {...fold}>
					{item.output ? (
						<>
							<div class="part-head line">
								<h2 class="small soft">Output</h2>
								<CopyButton text={item.output} what="the output" />
							</div>
							<LongText text={item.output} />
						</>
					) : (
						<p class="soft small">No output.</p>
					)}
				</Fold>
			);
		}
		case "summary": {
			const size = item.tokensBefore ? ` from ${short(item.tokensBefore)} tokens` : "";
			const text =
				item.origin === "branch"
					? "Summary of the abandoned branch"
					: `Compacted${size}: this summary replaces everything above`;
			return (
				<Fold class="summary" summary={text} {...fold}>
					<LongText text={item.text} />
				</Fold>
			);
		}
		case "custom":
			return (
				<div class="custom">
					<p class="small soft">
						<PlainText text={item.label} max={100} />
					</p>
					{item.hasColumns && item.text.includes("\n") ? (
						<Scroller class="columns" aria-label={item.label}>
							<LongText text={item.text} lines={60} />
						</Scroller>
					) : (
						<LongText text={item.text} />
					)}
					<Pictures pictures={item.pictures} actions={actions} />
				</div>
			);
		case "note":
			return (
				<p class="note small soft">
					<PlainText text={item.text} max={200} />
					{item.mergedKeys.length > 1 && ` × ${item.mergedKeys.length}`}
				</p>
			);
		case "error":
			return <Failure text={item.text} />;
	}
}

function Failure({ text }: { text: string }) {
	return (
		<p class="problem">
			<PlainText text={text} />
		</p>
	);
}

function Outcome({ item }: { item: AssistantItem }) {
	if (item.error !== undefined) return <Failure text={item.error} />;
	const text = item.isAborted
		? "Stopped."
		: item.isPartial
			? "This answer began before the page was opened. The full answer appears once it is complete."
			: item.isCut
				? "The server shortened this message, because it is too long to send at once. Reload the page to see all of it."
				: "…";
	return <p class="note small soft">{text}</p>;
}

/** What a whole turn cost: all its requests, not just the last. */
function TurnBill({ turn, actions }: { turn: Turn; actions: RowActions }) {
	const { first, last, requests, tokens, dollars: price, model, atMs, text } = turn;
	const numbers = first === last ? `request ${first}` : `${requests} requests, ${first}–${last}`;
	return (
		<p class="bill row small soft number">
			<Clock atMs={atMs} />
			<a href={actions.costHref} title="Show the requests in the Cost view">
				{numbers}
			</a>
			<span>{short(tokens)} tokens billed</span>
			{price > 0 && (
				<span>
					{dollars(price)} <MadeUp isShown={actions.hasMadeUpPrices} />
				</span>
			)}
			{model && <PlainText text={model} max={80} />}
			{text !== "" && <CopyButton text={text} what="the answer" />}
		</p>
	);
}

export type Row =
	| { key: string; kind: "item"; item: Exclude<Item, AssistantItem> }
	| { key: string; kind: "block"; item: AssistantItem; block: Block; isLast: boolean }
	/** A row about the whole answer, such as its error. */
	| { key: string; kind: "outcome"; item: AssistantItem }
	/** The end of a turn, with the bill of all its requests. */
	| { key: string; kind: "turn"; item: AssistantItem; turn: Turn };

/** Memoized: unchanged items keep their rows. `isRunning`: the last turn has not ended. */
export function rowsOf(items: readonly Item[], isRunning = false): Row[] {
	const ends = turnEnds(items, isRunning);
	return items.flatMap((item) => {
		let rows = rowCache.get(item);
		if (!rows) {
			rows = item.kind === "assistant" ? answerRows(item) : [{ key: item.key, kind: "item", item }];
			rowCache.set(item, rows);
		}
		const turn = ends.get(item);
		if (!turn || item.kind !== "assistant") return rows;
		return [...rows, { key: `${item.key}/turn`, kind: "turn" as const, item, turn }];
	});
}

const rowCache = new WeakMap<Item, readonly Row[]>();

function answerRows(item: AssistantItem): readonly Row[] {
	const { blocks, error, isAborted, isCut, isPartial, isStreaming } = item;
	const rows: Row[] = [];
	for (const [at, block] of blocks.entries()) {
		const isEmpty = block.kind !== "call" && block.text.trim() === "";
		if (isEmpty) continue;
		const isLast = at === blocks.length - 1;
		rows.push({ key: `${item.key}/${at}`, kind: "block", item, block, isLast });
	}
	const isSilent = rows.length === 0 && isStreaming;
	if (error !== undefined || isAborted || isCut || isPartial || isSilent) {
		rows.push({ key: `${item.key}/outcome`, kind: "outcome", item });
	}
	return rows;
}

/** The key of the row that shows an entry: a message, or the call whose result the entry is. */
export function rowKeyOf(rows: readonly Row[], entryId: string): string | undefined {
	const own = rows.find(
		(row) =>
			row.item.entryId === entryId ||
			(row.kind === "block" && row.block.kind === "call" && row.block.call.resultId === entryId),
	);
	return own?.key;
}

export function estimatedHeight(row: Row): number {
	if (row.kind === "outcome" || row.kind === "turn") return 30;
	const shown = row.kind === "block" ? row.block : row.item;
	if (shown.kind !== "text" && shown.kind !== "user" && shown.kind !== "custom") return 32;
	const pictures = "pictures" in shown && shown.pictures.length > 0 ? 200 : 0;
	return 30 + 21 * Math.min(40, Math.ceil(shown.text.length / 95)) + pictures;
}
