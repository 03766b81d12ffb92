import { dollars, short } from "../parts/figures.ts";
import { Fold } from "../parts/fold.tsx";
import { MarkdownText } from "../parts/markdown.tsx";
import { PictureView } from "../parts/picture.tsx";
import type { Picture } from "../parts/picture-facts.ts";
import { LongText, PlainText } from "../parts/text.tsx";
import type {
	AssistantItem,
	BashItem,
	CustomItem,
	NoteItem,
	SummaryItem,
	UserItem,
} from "./items.ts";
import type { Row } from "./rows.ts";
import { ToolCallRow } from "./tool-call-row.tsx";

/** Kept outside of the rows: those out of view do not exist. */
export interface RowActions {
	isUnfolded(key: string): boolean;
	toggle(key: string, isOpen: boolean): void;
	showPicture(picture: Picture): void;
	/** Gets what the server left out of events. */
	reload(): void;
}

export function RowView({ row, actions }: { row: Row; actions: RowActions }) {
	const fold = {
		isOpen: actions.isUnfolded(row.key),
		onToggle: (isOpen: boolean) => actions.toggle(row.key, isOpen),
	};
	if (row.kind === "outcome") return <Outcome item={row.item} />;
	if (row.kind === "block") {
		const { block, item, isLast } = row;
		if (block.kind === "call") {
			const { call } = block;
			return (
				<ToolCallRow
					call={call}
					pictures={<Pictures pictures={call.pictures} actions={actions} />}
					{...fold}
				/>
			);
		}
		if (block.kind === "thinking") {
			const summary = item.isStreaming && isLast ? "Thinking…" : "Thinking";
			return (
				<Fold summary={summary} class="thinking" {...fold}>
					<LongText text={block.text} />
				</Fold>
			);
		}
		return (
			<div class="answer">
				<MarkdownText text={block.text} />
				{isLast && !item.isStreaming && <Bill item={item} />}
			</div>
		);
	}
	const { item } = row;
	switch (item.kind) {
		case "user":
			return <UserRow item={item} actions={actions} />;
		case "bash":
			return <BashRow item={item} {...fold} />;
		case "summary":
			return <SummaryRow item={item} {...fold} />;
		case "custom":
			return <CustomRow item={item} actions={actions} />;
		case "note":
			return <NoteRow item={item} />;
		case "error":
			return (
				<p class="problem">
					<PlainText text={item.text} />
				</p>
			);
	}
}

interface FoldState {
	isOpen: boolean;
	onToggle(isOpen: boolean): void;
}

function UserRow({ item, actions }: { item: UserItem; actions: RowActions }) {
	return (
		<div class="said">
			<h2 class="hidden-text">You</h2>
			<LongText text={item.text} lines={40} />
			<Pictures pictures={item.pictures} actions={actions} />
		</div>
	);
}

function CustomRow({ item, actions }: { item: CustomItem; actions: RowActions }) {
	return (
		<div class="custom">
			<p class="small soft">
				<PlainText text={item.label} most={100} />
			</p>
			{item.hasColumns ? (
				// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
				<section class="columns" aria-label={item.label} tabIndex={0}>
					<LongText text={item.text} lines={60} />
				</section>
			) : (
				<LongText text={item.text} />
			)}
			<Pictures pictures={item.pictures} actions={actions} />
		</div>
	);
}

/** Each is decoded in full, so only a few are drawn. */
function Pictures({ pictures, actions }: { pictures: readonly Picture[]; actions: RowActions }) {
	if (pictures.length === 0) return null;
	const rest = pictures.length - MOST_PICTURES;
	return (
		<div class="pictures row">
			{pictures.slice(0, MOST_PICTURES).map((picture, at) => (
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

const MOST_PICTURES = 20;

function BashRow({ item, ...fold }: { item: BashItem } & FoldState) {
	const outcome = {
		running: "running…",
		done: "",
		failed: `exit code ${item.exitCode ?? "?"}`,
		cancelled: "cancelled",
	}[item.state];
	return (
		<Fold
			class={`call is-${item.state}`}
			{...fold}
			summary={
				<>
					<span class="call-name">$</span>{" "}
					<PlainText as="code" text={item.command ?? "a command of another client"} most={200} />{" "}
					<span class="small">{outcome}</span>
				</>
			}
		>
			{item.output ? <LongText text={item.output} /> : <p class="soft small">No output.</p>}
		</Fold>
	);
}

function SummaryRow({ item, ...fold }: { item: SummaryItem } & FoldState) {
	const words =
		item.of === "branch"
			? "Summary of the branch that was left"
			: `Compacted${item.tokensBefore ? ` from ${short(item.tokensBefore)} tokens` : ""}: a summary stands for what is above`;
	return (
		<Fold class="summary" summary={words} {...fold}>
			<LongText text={item.text} />
		</Fold>
	);
}

function NoteRow({ item }: { item: NoteItem }) {
	const count = item.stands.length;
	return (
		<p class="note">
			<PlainText text={item.text} most={200} />
			{count > 1 && ` × ${count}`}
		</p>
	);
}

function Outcome({ item }: { item: AssistantItem }) {
	if (item.error !== undefined) {
		return (
			<p class="problem">
				<PlainText text={item.error} />
			</p>
		);
	}
	const words = item.isAborted
		? "Stopped."
		: item.isPartial
			? "Written before this page was opened: the whole answer shows when it is complete."
			: item.isCut
				? "The server has cut this message: it is longer than what is sent at once. Load the page again to see all of it."
				: "…";
	return <p class="note">{words}</p>;
}

function Bill({ item }: { item: AssistantItem }) {
	if (item.tokens === undefined) return null;
	return (
		<p class="bill small soft number">
			{short(item.tokens)} tokens{item.dollars ? ` · ${dollars(item.dollars)}` : ""}
			{item.model && (
				<>
					{" · "}
					<PlainText text={item.model} most={80} />
				</>
			)}
		</p>
	);
}
