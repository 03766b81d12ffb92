import type { ComponentProps } from "preact";
import { Fold, Scroller } from "../parts/controls.tsx";
import { dollars, short } from "../parts/figures.ts";
import { MarkdownText } from "../parts/markdown.tsx";
import { type Picture, PictureView } from "../parts/picture.tsx";
import { LongText, PlainText } from "../parts/text.tsx";
import {
	type AssistantItem,
	type Block,
	callSummary,
	editsOf,
	type Item,
	type ToolCall,
} from "./items.ts";

/** State that is kept outside of the rows, because rows out of view are not rendered. */
export interface RowActions {
	isUnfolded(key: string): boolean;
	toggle(key: string, isOpen: boolean): void;
	showPicture(picture: Picture): void;
	/** Loads the pictures that the server left out of events. */
	reload(): void;
}

type FoldState = Pick<ComponentProps<typeof Fold>, "isOpen" | "onToggle">;

export function RowView({ row, actions }: { row: Row; actions: RowActions }) {
	const fold: FoldState = {
		isOpen: actions.isUnfolded(row.key),
		onToggle: (isOpen) => actions.toggle(row.key, isOpen),
	};
	if (row.kind === "outcome") return <Outcome item={row.item} />;
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
					{isLast && !item.isStreaming && <Bill item={item} />}
				</div>
			);
	}
}

function itemRow(item: Exclude<Item, AssistantItem>, fold: FoldState, actions: RowActions) {
	switch (item.kind) {
		case "user":
			return (
				<div class="said">
					<h2 class="hidden-text">You</h2>
					<LongText text={item.text} lines={40} />
					<Pictures pictures={item.pictures} actions={actions} />
				</div>
			);
		case "bash": {
			const outcome = {
				running: "running…",
				done: "",
				failed: `exit code ${item.exitCode ?? "?"}`,
				cancelled: "cancelled",
			}[item.state];
			const command = item.command ?? "command from another client";
			const summary = (
				<>
					<span class="call-name small">$</span> <PlainText as="code" text={command} max={200} />{" "}
					<span class="small">{outcome}</span>
				</>
			);
			return (
				<Fold class={`call is-${item.state}`} summary={summary} {...fold}>
					{item.output ? <LongText text={item.output} /> : <p class="soft small">No output.</p>}
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
					{item.hasColumns ? (
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

/** Maximum number of pictures drawn per message, because each is decoded in full. */
const MAX_PICTURES = 20;

function Pictures({ pictures, actions }: { pictures: readonly Picture[]; actions: RowActions }) {
	if (pictures.length === 0) return null;
	const rest = pictures.length - MAX_PICTURES;
	return (
		<div class="pictures row">
			{pictures.slice(0, MAX_PICTURES).map((picture, at) => (
				<PictureView
					key={at}
					picture={picture}
					onOpen={() => actions.showPicture(picture)}
					onLoad={actions.reload}
				/>
			))}
			{rest > 0 && <p class="small soft">and {rest} more</p>}
		</div>
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

function Bill({ item: { tokens, dollars: price, model } }: { item: AssistantItem }) {
	if (tokens === undefined) return null;
	return (
		<p class="bill small soft number">
			{short(tokens)} tokens{price ? ` · ${dollars(price)}` : ""}
			{model && " · "}
			{model && <PlainText text={model} max={80} />}
		</p>
	);
}

const STATES: Record<ToolCall["state"], string> = {
	writing: "writing…",
	waiting: "waiting",
	running: "running…",
	done: "",
	failed: "failed",
	lost: "no result",
};

function Call({ call, fold, actions }: { call: ToolCall; fold: FoldState; actions: RowActions }) {
	const { name, state, output, args, argsText, pictures } = call;
	const edits = fold.isOpen ? editsOf(args) : [];
	const given = fold.isOpen && args !== undefined ? JSON.stringify(args, undefined, 2) : argsText;
	const summary = (
		<>
			<PlainText class="call-name small" text={name || "tool"} max={80} />{" "}
			<PlainText as="code" text={callSummary(call)} />{" "}
			<span class="small call-state">{STATES[state]}</span>
		</>
	);
	return (
		<Fold class={`call is-${state}`} summary={summary} {...fold}>
			<h2 class="small soft">Arguments</h2>
			{edits.map(({ oldText, newText }, at) => (
				<div key={at}>
					<div class="edit-old">
						<span class="hidden-text">Before:</span>
						<LongText text={oldText} lines={12} />
					</div>
					<div class="edit-new">
						<span class="hidden-text">After:</span>
						<LongText text={newText} lines={12} />
					</div>
				</div>
			))}
			{edits.length === 0 && <LongText text={given} lines={12} />}
			{output !== "" && <h2 class="small soft">{state === "failed" ? "Error" : "Result"}</h2>}
			{output !== "" && <LongText text={output} />}
			<Pictures pictures={pictures} actions={actions} />
			{state === "done" && output === "" && pictures.length === 0 && (
				<p class="small soft">No output.</p>
			)}
		</Fold>
	);
}

export type Row =
	| { key: string; kind: "item"; item: Exclude<Item, AssistantItem> }
	| { key: string; kind: "block"; item: AssistantItem; block: Block; isLast: boolean }
	/** A row about the whole answer, such as its error. */
	| { key: string; kind: "outcome"; item: AssistantItem };

/** Memoized: unchanged items keep their rows. */
export function rowsOf(items: readonly Item[]): Row[] {
	return items.flatMap((item) => {
		let rows = rowCache.get(item);
		if (!rows) {
			rows = item.kind === "assistant" ? answerRows(item) : [{ key: item.key, kind: "item", item }];
			rowCache.set(item, rows);
		}
		return rows;
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

export function estimatedHeight(row: Row): number {
	if (row.kind === "outcome") return 30;
	const shown = row.kind === "block" ? row.block : row.item;
	if (shown.kind !== "text" && shown.kind !== "user" && shown.kind !== "custom") return 32;
	const pictures = "pictures" in shown && shown.pictures.length > 0 ? 200 : 0;
	return 30 + 21 * Math.min(40, Math.ceil(shown.text.length / 95)) + pictures;
}
