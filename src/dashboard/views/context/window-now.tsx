import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { Swatch } from "../../chart/chart.tsx";
import { ago, formatCount, formatNumberOf, formatShare, short } from "../../parts/figures.ts";
import { Empty } from "../../parts/notices.tsx";
import { PlainText, visibleString } from "../../parts/text.tsx";
import { Choice, Figures, Section, useNow } from "../section.tsx";
import { Table } from "../table.tsx";
import {
	type Bar,
	cachedPrefix,
	KIND_NAMES,
	type KindRow,
	kindColour,
	kindsOf,
	labelOf,
	layoutBar,
	nextIndex,
	type Piece,
	type PieceOrder,
	rectanglesOf,
	type Segment,
	segmentAt,
} from "./piece-bar.ts";

export type OnShow = (piece: Piece) => void;

export function WindowNow({ context, onShow }: { context: Data<"ContextView">; onShow: OnShow }) {
	const { pieces, tokens, window: size, cachedTokens, compactsAt } = context;
	const [order, setOrder] = useState<PieceOrder>("sent");
	const bar = useMemo(
		() => layoutBar(pieces, { order, cached: cachedPrefix(context) }),
		[context, order],
	);
	const kinds = useMemo(() => kindsOf(pieces), [pieces]);
	const rows = useMemo(() => windowRows(context, kinds), [context, kinds]);
	if (pieces.length === 0) return <Empty>Nothing has been sent to the model yet.</Empty>;
	const left = compactsAt === undefined ? undefined : compactsAt - tokens;
	return (
		<Section
			title="In the context window now"
			aside={
				<Choice
					label="Order of the pieces"
					values={{ sent: "As sent", kind: "By kind" }}
					chosen={order}
					onChoose={setOrder}
				/>
			}
		>
			<Figures
				figures={[
					[
						"In use",
						`${context.isEstimated ? "≈ " : ""}${short(tokens)}`,
						size > 0 ? `${formatShare(tokens / size)} of ${short(size)} tokens` : "tokens",
					],
					left === undefined
						? undefined
						: [
								"Until pi compacts",
								short(Math.max(0, left)),
								`tokens left; it compacts above ${short(compactsAt ?? 0)}`,
								left < 0 ? "bad" : undefined,
							],
					[
						"Cached in the last request",
						cachedTokens === undefined ? "–" : short(cachedTokens),
						cachedTokens === undefined ? "no request yet" : "tokens, reported by the provider",
						cachedTokens ? "good" : undefined,
					],
					["Pieces", formatCount(pieces.length), formatNumberOf(kinds.length, "kind")],
				]}
			/>
			{size > 0 && <WindowBar context={context} kinds={kinds} />}
			<PieceBar bar={bar} onShow={onShow} />
			<Table
				label="Window contents by kind"
				rows={rows}
				keyOf={({ name }) => name}
				classOf={({ kind }) => (kind ? "" : "soft")}
				columns={[
					{
						title: "Kind",
						cell: ({ kind, name }) => (kind ? <KindName kind={kind} /> : name),
						isRowHeader: true,
					},
					["Tokens", (row) => short(row.tokens)],
					["Share of total", (row) => row.share !== undefined && formatShare(row.share), "roomy"],
					["Share of window", (row) => (size > 0 ? formatShare(row.tokens / size) : "–")],
					["Pieces", (row) => row.pieces !== undefined && formatCount(row.pieces), "roomy"],
				]}
				foot={{ name: "Window", tokens: size }}
			/>
			<p class="soft small">
				{context.isEstimated
					? "Estimated by length: the first bill will say how many tokens there are."
					: "The total is what the provider billed for the last request, plus an estimate of newer messages. The pieces are scaled to it."}
			</p>
		</Section>
	);
}

interface WindowRow extends Partial<KindRow> {
	readonly name: string;
	readonly tokens: number;
}

/** The kinds, what is free, and what pi keeps free: together the whole window. */
export function windowRows(
	{ window: size, tokens, reserve, compactsAt }: WindowFacts,
	kinds: readonly KindRow[],
): WindowRow[] {
	if (size === 0) return [...kinds];
	const kept = compactsAt === undefined ? 0 : Math.min(reserve, Math.max(0, size - tokens));
	const free = { name: "Free", tokens: Math.max(0, size - tokens - kept) };
	return [...kinds, free, ...(kept > 0 ? [{ name: "Kept free by pi", tokens: kept }] : [])];
}

type WindowFacts = Pick<Data<"ContextView">, "window" | "tokens" | "reserve" | "compactsAt">;

function WindowBar({ context, kinds }: { context: WindowFacts; kinds: readonly KindRow[] }) {
	const { window: size, tokens, compactsAt } = context;
	const scale = 1000 / Math.max(size, tokens);
	let at = 0;
	const where =
		compactsAt === undefined ? "" : `, pi compacts at ${formatShare(compactsAt / size)}`;
	return (
		<div class="window-bar-box">
			<svg
				class="window-bar"
				viewBox="0 0 1000 10"
				preserveAspectRatio="none"
				role="img"
				aria-label={`${formatShare(tokens / size)} of the window is in use${where}`}
			>
				<rect width="1000" height="10" fill="var(--raised)" />
				{compactsAt !== undefined && (
					<rect
						class="reserve"
						x={compactsAt * scale}
						width={Math.max(0, 1000 - compactsAt * scale)}
						height="10"
					/>
				)}
				{kinds.map(({ kind, tokens: own }) => {
					const x = at;
					const width = own * scale;
					at += width;
					return (
						<rect key={kind} x={x} width={width} height="10" fill={`var(${kindColour(kind)})`} />
					);
				})}
				{compactsAt !== undefined && (
					<rect class="compacts-at" x={compactsAt * scale - 1} width="2" height="10" />
				)}
			</svg>
			{compactsAt !== undefined && (
				<span
					class="compacts-label small soft"
					style={{ right: `${Math.max(0, 100 - (compactsAt * scale) / 10)}%` }}
				>
					pi compacts here
				</span>
			)}
		</div>
	);
}

export function KindName({ kind }: { kind: Data<"ContextKind"> }) {
	return (
		<span class="kind-name">
			<Swatch colour={kindColour(kind)} />
			<span class="kind-word">{KIND_NAMES[kind] ?? kind}</span>
		</span>
	);
}

/** Below this share of the bar, a gap would hide the piece on a phone. */
const THIN = 1 / 120;

/** Draws the pieces to scale; a strip below shows how much of each is cached. Pointer or arrow keys choose one; click or Enter opens it. */
function PieceBar({ bar, onShow }: { bar: Bar; onShow: OnShow }) {
	const [pointedId, setPointedId] = useState<string>();
	const rectangles = useMemo(() => rectanglesOf(bar), [bar]);
	const segments = useMemo(() => bar.segments.filter(({ start, end }) => end > start), [bar]);
	const at = segments.findIndex(({ piece }) => piece.id === pointedId);
	const pointed = segments[at];

	function onKeyDown(event: KeyboardEvent): void {
		const next = nextIndex(event.key, at, segments.length);
		const opens = event.key === "Enter" || event.key === " ";
		if (next === undefined && !opens) return;
		event.preventDefault();
		if (next !== undefined) setPointedId(segments[next]?.piece.id);
		else if (pointed) onShow(pointed.piece);
	}

	return (
		<div class="piece-bar">
			<div
				class="piece-bar-field"
				role="slider"
				tabIndex={0}
				aria-label="Pieces of the context: choose one with the arrow keys, open it with Enter"
				aria-valuemin={1}
				aria-valuemax={Math.max(1, segments.length)}
				aria-valuenow={Math.max(1, at + 1)}
				aria-valuetext={pointed ? describe(pointed) : "no piece chosen"}
				onKeyDown={onKeyDown}
				onPointerMove={(event) => setPointedId(under(event, bar)?.piece.id)}
				onPointerLeave={() => setPointedId(undefined)}
				onClick={(event) => {
					const segment = under(event, bar);
					if (segment) onShow(segment.piece);
				}}
			>
				<svg viewBox="0 0 1000 56" preserveAspectRatio="none" aria-hidden="true">
					{rectangles.map(({ kind, start, width, cached }) => (
						<g key={start}>
							<rect
								class={width < THIN ? "piece is-thin" : "piece"}
								x={start * 1000}
								width={width * 1000}
								height="46"
								fill={`var(${kindColour(kind)})`}
							/>
							{cached > 0 && (
								<rect class="cached" x={start * 1000} y="50" width={cached * 1000} height="6" />
							)}
						</g>
					))}
					{pointed && (
						<rect
							class="pointed"
							x={(pointed.start / bar.tokens) * 1000}
							width={Math.max(2, ((pointed.end - pointed.start) / bar.tokens) * 1000)}
							height="46"
						/>
					)}
				</svg>
			</div>
			<Pointed segment={pointed} />
		</div>
	);
}

function Pointed({ segment }: { segment: Segment | undefined }) {
	const now = useNow();
	if (!segment) {
		return (
			<p class="pointed-line soft small">
				The line below the bar marks the cached part. Click a piece, or choose one from the table,
				to see its text.
			</p>
		);
	}
	const { piece, cached } = segment;
	return (
		<p class="pointed-line small">
			<b>{KIND_NAMES[piece.kind] ?? piece.kind}</b> <PlainText text={labelOf(piece)} max={200} />{" "}
			<span class="soft">
				{short(piece.tokens)} tokens · {ago(piece.sinceMs, now)}
				{cached > 0 && " · cached"}
			</span>
		</p>
	);
}

function under(event: { currentTarget: HTMLElement; clientX: number }, bar: Bar) {
	const { left, width } = event.currentTarget.getBoundingClientRect();
	return segmentAt(bar, (event.clientX - left) / width);
}

function describe({ piece }: Segment): string {
	return `${KIND_NAMES[piece.kind]}, ${visibleString(labelOf(piece))}, ${short(piece.tokens)} tokens`;
}
