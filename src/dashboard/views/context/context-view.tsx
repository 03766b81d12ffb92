import "./context.css";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { createAsking } from "../../asking.ts";
import { Chart } from "../../chart/chart.tsx";
import { client } from "../../connection/connection.ts";
import { Button, Dialog, Fold, Scroller, TextButton } from "../../parts/controls.tsx";
import { ago, formatCount, short, textOf } from "../../parts/figures.ts";
import { Answered, Problem } from "../../parts/notices.tsx";
import { PlainText, stretchesOf } from "../../parts/text.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { Choice, Section, useNow } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";
import { KIND_NAMES, KINDS, kindColour, labelOf, type Piece, totalOf } from "./bar.ts";
import { KindName, type OnShow, WindowNow } from "./window-now.tsx";

export function ContextView({ sessionId, changes }: SessionViewProps) {
	const asked = useAnswer("get_context_view", { sessionId }, changes.value);
	const [shown, setShown] = useState<Piece>();
	return (
		<div class="view">
			<Answered asked={asked} waiting="Looking into the window…">
				{(data) => (
					<>
						<WindowNow context={data} onShow={setShown} />
						<ContextHistory history={data.history} />
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

function ContextHistory({ history }: { history: readonly Data<"ContextMoment">[] }) {
	const [isOpen, setIsOpen] = useState(false);
	const course = useMemo(() => courseOf(history), [history]);
	const { kinds, requests, byKind } = course;
	const rows = useMemo(
		() =>
			kinds.map((kind, at) => ({
				name: KIND_NAMES[kind],
				values: byKind[at] ?? [],
				colour: kindColour(kind),
			})),
		[course],
	);
	return (
		<Section title="Over time">
			{requests.length === 0 ? (
				<p class="soft">The first request has not been answered yet.</p>
			) : (
				<>
					<Chart
						label="Tokens of each kind in every request, stacked"
						of="Request"
						shape={requests.length === 1 ? "columns" : "areas"}
						numbers={requests}
						rows={rows}
						format={short}
						height={220}
					/>
					<Fold summary="As a table" isOpen={isOpen} onToggle={setIsOpen}>
						<CourseTable course={course} />
					</Fold>
				</>
			)}
		</Section>
	);
}

const MOST_LINES = 60;

function CourseTable({ course }: { course: ReturnType<typeof courseOf> }) {
	const { kinds, requests, atMs, byKind } = course;
	return (
		<Table
			label="Tokens of each kind by request"
			rows={requests.map((_, at) => at).slice(-MOST_LINES)}
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

/** Of many requests only some are kept. `byKind[i]` belongs to `kinds[i]` and has one value for each of them. */
export function courseOf(history: readonly Data<"ContextMoment">[], most = 200) {
	const moments = thinned(history, most);
	const kinds = KINDS.filter((kind) => moments.some(({ byKind }) => (byKind[kind] ?? 0) > 0));
	return {
		kinds,
		requests: moments.map(({ request }) => request),
		atMs: moments.map(({ atMs }) => atMs),
		byKind: kinds.map((kind) => moments.map(({ byKind }) => byKind[kind] ?? 0)),
	};
}

/** At most so many moments: the first, the last, and of each stretch of neighbours the fullest. */
export function thinned(history: readonly Data<"ContextMoment">[], most: number) {
	if (history.length <= most) return history;
	const between = history.slice(1, -1);
	const stretches = Math.max(0, most - 2);
	// Multiplied, because adding up a fraction would drop the last moments.
	const bound = (index: number) => Math.floor((index * between.length) / stretches);
	const kept = Array.from({ length: stretches }, (_, index) =>
		between.slice(bound(index), bound(index + 1)).reduce(fuller),
	);
	return [...history.slice(0, 1), ...kept, ...history.slice(-1)];
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
				most={50}
				more={200}
				keyOf={({ id }) => id}
				columns={[
					["#", ({ number }) => number, "soft roomy"],
					{ title: "Kind", cell: ({ kind }) => <KindName kind={kind} />, class: "piece-kind" },
					{
						title: "Piece",
						cell: ({ piece }) => (
							<TextButton onClick={() => onShow(piece)} text={labelOf(piece)} most={200} />
						),
						class: "wide piece-name",
					},
					["Tokens", ({ tokens }) => short(tokens)],
					["Stands for", ({ replacedTokens: n }) => n !== undefined && short(n), "soft roomy"],
					["Since", ({ sinceMs }) => ago(sinceMs, now), "soft"],
				]}
			/>
		</Section>
	);
}

interface PieceDialogProps {
	sessionId: string;
	piece: Piece;
	onClose(): void;
}

function PieceDialog({ sessionId, piece, onClose }: PieceDialogProps) {
	const now = useNow();
	const { read, problem, isAsking, ask } = usePieceText(sessionId, piece.id);
	return (
		<Dialog wide title={<PlainText text={labelOf(piece)} most={200} />} onCancel={onClose}>
			<p class="soft small">
				{KIND_NAMES[piece.kind] ?? piece.kind} · {formatCount(piece.tokens)} tokens · came into the
				window {ago(piece.sinceMs, now)}
				{piece.path !== undefined && (
					<>
						{" · "}
						<PlainText text={piece.path} most={400} />
					</>
				)}
				{piece.replacedTokens !== undefined &&
					` · stands for ${short(piece.replacedTokens)} tokens`}
			</p>
			{read && (
				<Scroller class="piece-text" aria-label="Text of the piece">
					{read.stretches.map(({ offset, text }) => (
						<pre class="long-text" dir="auto" key={offset}>
							{stretchesOf(text)}
						</pre>
					))}
				</Scroller>
			)}
			{problem !== undefined && <Problem text={problem} onRetry={ask} />}
			<div class="dialog-actions row">
				{read?.nextOffset !== undefined && (
					<button type="button" disabled={isAsking} onClick={ask}>
						Show more ({short(read.totalChars - read.nextOffset)} characters left)
					</button>
				)}
				<Button class="primary" onClick={onClose} words="Close" />
			</div>
		</Dialog>
	);
}

function usePieceText(sessionId: string, pieceId: string) {
	const [read, setRead] = useState<ReadText>();
	const [problem, setProblem] = useState<string>();
	const [wanted, setWanted] = useState<{ offset: number }>({ offset: 0 });
	const [isAsking, setIsAsking] = useState(true);
	useEffect(() => {
		setIsAsking(true);
		setProblem(undefined);
		const fields = { sessionId, pieceId, offset: wanted.offset };
		// Reports nothing once it is stopped: another piece is wanted then.
		const asking = createAsking({
			ask: (signal) => client().request("get_context_piece", fields, { signal }),
			onAnswer({ data }) {
				setRead((before) => addStretch(before, data));
				setIsAsking(false);
			},
			onError(error) {
				setProblem(textOf(error));
				setIsAsking(false);
			},
		});
		asking.again();
		return asking.stop;
	}, [sessionId, pieceId, wanted]);
	return { read, problem, isAsking, ask: () => setWanted({ offset: read?.nextOffset ?? 0 }) };
}

export interface ReadText {
	readonly stretches: readonly { readonly offset: number; readonly text: string }[];
	readonly totalChars: number;
	readonly nextOffset?: number;
}

/** Adds a stretch. If the text has changed, the old stretches are dropped. */
export function addStretch(before: ReadText | undefined, next: Data<"ContextPieceText">): ReadText {
	const { offset, text, totalChars, nextOffset } = next;
	const fits = before?.nextOffset === offset && before.totalChars === totalChars;
	return {
		stretches: [...(fits ? before.stretches : []), { offset, text }],
		totalChars,
		// A stretch that leads nowhere must not be fetched in a loop.
		...(nextOffset !== undefined && nextOffset > offset && { nextOffset }),
	};
}
