import "./context.css";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Chart } from "../../chart/chart.tsx";
import { client } from "../../connection/connection.ts";
import { Button, Fold, Scroller, TextButton } from "../../parts/controls.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { ago, errorMessage, formatCount, short } from "../../parts/figures.ts";
import { Answered, Problem } from "../../parts/notices.tsx";
import { PlainText, visibleSpans } from "../../parts/text.tsx";
import { createRefresher } from "../../refresher.ts";
import type { SessionViewProps } from "../../session/open-session.ts";
import { Choice, Section, useNow } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";
import { PieceActions } from "./piece-actions.tsx";
import { KIND_NAMES, KINDS, kindColour, labelOf, type Piece, totalOf } from "./piece-bar.ts";
import { KindName, type OnShow, WindowNow } from "./window-now.tsx";

export function ContextView({ sessionId, changes }: SessionViewProps) {
	const answer = useAnswer("get_context_view", { sessionId }, changes.value);
	const [shown, setShown] = useState<Piece>();
	return (
		<div class="view">
			<Answered answer={answer} waiting="Loading…">
				{(data) => (
					<>
						<WindowNow context={data} onShow={setShown} />
						<ContextOverTime moments={data.history} />
						<PieceTable pieces={data.pieces} onShow={setShown} />
					</>
				)}
			</Answered>
			{shown && (
				<PieceDialog
					key={shown.id}
					sessionId={sessionId}
					piece={shown}
					onClose={() => setShown(undefined)}
				/>
			)}
		</div>
	);
}

function ContextOverTime({ moments }: { moments: readonly Data<"ContextMoment">[] }) {
	const [isOpen, setIsOpen] = useState(false);
	const series = useMemo(() => contextSeries(moments), [moments]);
	const { kinds, requests, byKind } = series;
	const rows = useMemo(
		() =>
			kinds.map((kind, at) => ({
				name: KIND_NAMES[kind],
				values: byKind[at] ?? [],
				colour: kindColour(kind),
			})),
		[series],
	);
	return (
		<Section title="Over time">
			{requests.length === 0 ? (
				<p class="soft">The first request has not been answered yet.</p>
			) : (
				<>
					<Chart
						label="Tokens of each kind in every request, stacked"
						unit="Request"
						quantity="Tokens"
						shape={requests.length === 1 ? "columns" : "areas"}
						numbers={requests}
						rows={rows}
						format={short}
						height={240}
					/>
					<Fold summary="As a table" isOpen={isOpen} onToggle={setIsOpen}>
						<SeriesTable series={series} />
					</Fold>
				</>
			)}
		</Section>
	);
}

const MAX_LINES = 60;

function SeriesTable({ series }: { series: ReturnType<typeof contextSeries> }) {
	const { kinds, requests, atMs, byKind } = series;
	return (
		<Table
			label="Tokens of each kind by request"
			rows={requests.map((_, at) => at).slice(-MAX_LINES)}
			keyOf={(at) => at}
			columns={[
				{ title: "Request", cell: (at) => formatCount(requests[at] ?? 0), isRowHeader: true },
				{ title: "Time", cell: (at) => new Date(atMs[at] ?? 0).toLocaleTimeString() },
				...kinds.map((kind, row): Columns<number>[number] => {
					return [KIND_NAMES[kind], (at) => short(byKind[row]?.[at] ?? 0)];
				}),
			]}
		/>
	);
}

/** Time series, downsampled to `max` requests. `byKind[i]` has one value per request, for `kinds[i]`. */
export function contextSeries(all: readonly Data<"ContextMoment">[], max = 200) {
	const moments = downsampled(all, max);
	const kinds = KINDS.filter((kind) => moments.some(({ byKind }) => (byKind[kind] ?? 0) > 0));
	return {
		kinds,
		requests: moments.map(({ request }) => request),
		atMs: moments.map(({ atMs }) => atMs),
		byKind: kinds.map((kind) => moments.map(({ byKind }) => byKind[kind] ?? 0)),
	};
}

/** At most `max` moments: the first, the last, and the peak of each bucket between them. */
export function downsampled(moments: readonly Data<"ContextMoment">[], max: number) {
	if (moments.length <= max) return moments;
	const between = moments.slice(1, -1);
	const buckets = Math.max(0, max - 2);
	// Multiplied, because rounding errors of a running sum would drop the last moments.
	const bound = (index: number) => Math.floor((index * between.length) / buckets);
	const kept = Array.from({ length: buckets }, (_, index) =>
		between.slice(bound(index), bound(index + 1)).reduce(fuller),
	);
	return [...moments.slice(0, 1), ...kept, ...moments.slice(-1)];
}

function fuller(one: Data<"ContextMoment">, other: Data<"ContextMoment">): Data<"ContextMoment"> {
	return totalOf(other) > totalOf(one) ? other : one;
}

function PieceTable({ pieces, onShow }: { pieces: readonly Piece[]; onShow: OnShow }) {
	const [order, setOrder] = useState<"sent" | "size">("sent");
	const now = useNow();
	const ordered = useMemo(() => {
		const numbered = pieces.map((piece, at) => ({ ...piece, piece, number: at + 1 }));
		return order === "size" ? numbered.sort((a, b) => b.tokens - a.tokens) : numbered;
	}, [pieces, order]);
	if (pieces.length === 0) return null;
	return (
		<Section
			title="Pieces"
			aside={
				<Choice
					label="Order of the table"
					values={{ sent: "As sent", size: "Largest first" }}
					chosen={order}
					onChoose={setOrder}
				/>
			}
		>
			<Table
				label="Pieces of the context"
				rows={ordered}
				maxRows={50}
				more={200}
				keyOf={({ id }) => id}
				columns={[
					["#", ({ number }) => number, "soft roomy"],
					{ title: "Kind", cell: ({ kind }) => <KindName kind={kind} />, class: "piece-kind" },
					{
						title: "Piece",
						cell: ({ piece }) => (
							<>
								<TextButton onClick={() => onShow(piece)} text={labelOf(piece)} max={200} />
								{stateOf(piece).map((word) => (
									<span key={word} class="tag">
										{word}
									</span>
								))}
							</>
						),
						class: "wide piece-name",
					},
					["Tokens", ({ tokens }) => short(tokens)],
					["Replaces", ({ replacedTokens: n }) => n !== undefined && short(n), "soft roomy"],
					["Added", ({ sinceMs }) => ago(sinceMs, now), "soft"],
				]}
			/>
		</Section>
	);
}

/** What was done with a piece by hand. */
function stateOf({ pinned, pending }: Piece): string[] {
	const change = {
		stub: "a stub from the next request on",
		full: "in full from the next request on",
	};
	return [...(pinned ? ["pinned"] : []), ...(pending ? [change[pending]] : [])];
}

function PieceDialog(props: { sessionId: string; piece: Piece; onClose(): void }) {
	const { sessionId, piece, onClose } = props;
	const now = useNow();
	const { read, problem, isLoading, load } = usePieceText(sessionId, piece.id);
	return (
		<Dialog wide title={<PlainText text={labelOf(piece)} max={200} />} onCancel={onClose}>
			<p class="soft small">
				{KIND_NAMES[piece.kind] ?? piece.kind} · {formatCount(piece.tokens)} tokens · added{" "}
				{ago(piece.sinceMs, now)}
				{piece.path !== undefined && (
					<>
						{" · "}
						<PlainText text={piece.path} max={400} />
					</>
				)}
				{piece.replacedTokens !== undefined && ` · replaces ${short(piece.replacedTokens)} tokens`}
				{stateOf(piece).map((word) => ` · ${word}`)}
			</p>
			{read && (
				<Scroller class="piece-text" aria-label="Text of the piece">
					{read.parts.map(({ offset, text }) => (
						<pre class="long-text" dir="auto" key={offset}>
							{visibleSpans(text)}
						</pre>
					))}
				</Scroller>
			)}
			{problem !== undefined && <Problem text={problem} onRetry={load} />}
			<div class="dialog-actions row">
				{read?.nextOffset !== undefined && (
					<button type="button" disabled={isLoading} onClick={load}>
						Show more ({short(read.totalChars - read.nextOffset)} characters left)
					</button>
				)}
				<PieceActions sessionId={sessionId} piece={piece} onDone={onClose} />
				<Button class="primary" onClick={onClose} label="Close" />
			</div>
		</Dialog>
	);
}

function usePieceText(sessionId: string, pieceId: string) {
	const [read, setRead] = useState<ReadText>();
	const [problem, setProblem] = useState<string>();
	const [wanted, setWanted] = useState<{ offset: number }>({ offset: 0 });
	const [isLoading, setIsLoading] = useState(true);
	useEffect(() => {
		setIsLoading(true);
		setProblem(undefined);
		const fields = { sessionId, pieceId, offset: wanted.offset };
		const refresher = createRefresher({
			fetch: (signal) => client().request("get_context_piece", fields, { signal }),
			onAnswer({ data }) {
				setRead((before) => appendPart(before, data));
				setIsLoading(false);
			},
			onError(error) {
				setProblem(errorMessage(error));
				setIsLoading(false);
			},
		});
		refresher.refresh();
		return refresher.stop;
	}, [sessionId, pieceId, wanted]);
	return { read, problem, isLoading, load: () => setWanted({ offset: read?.nextOffset ?? 0 }) };
}

export interface ReadText {
	readonly parts: readonly { readonly offset: number; readonly text: string }[];
	readonly totalChars: number;
	readonly nextOffset?: number;
}

/** Appends a part. Drops the old parts if the text has changed. */
export function appendPart(before: ReadText | undefined, next: Data<"ContextPieceText">): ReadText {
	const { offset, text, totalChars, nextOffset } = next;
	const fits = before?.nextOffset === offset && before.totalChars === totalChars;
	return {
		parts: [...(fits ? before.parts : []), { offset, text }],
		totalChars,
		// An offset that does not advance would cause an endless loop of fetches.
		...(nextOffset !== undefined && nextOffset > offset && { nextOffset }),
	};
}
