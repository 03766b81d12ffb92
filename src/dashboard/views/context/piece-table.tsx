import { useEffect, useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { client } from "../../connection/connection.ts";
import { Button, Dialog, TextButton } from "../../parts/controls.tsx";
import { ago, formatCount, short, textOf } from "../../parts/figures.ts";
import { Problem } from "../../parts/notices.tsx";
import { PlainText, stretchesOf } from "../../parts/text.tsx";
import { Choice, Section, useNow } from "../section.tsx";
import { Table } from "../table.tsx";
import { KIND_NAMES, labelOf } from "./bar.ts";
import { KindName } from "./window-now.tsx";

const FIRST = 50;
const MORE = 200;

interface PieceTableProps {
	pieces: readonly Data<"ContextPiece">[];
	onShow(piece: Data<"ContextPiece">): void;
}

export function PieceTable({ pieces, onShow }: PieceTableProps) {
	const [order, setOrder] = useState<"sent" | "size">("sent");
	const [most, setMost] = useState(FIRST);
	const now = useNow();
	const ordered = useMemo(() => {
		const numbered = pieces.map((piece, at) => ({ ...piece, piece, number: at + 1 }));
		return order === "size" ? numbered.sort((a, b) => b.tokens - a.tokens) : numbered;
	}, [pieces, order]);
	if (pieces.length === 0) return null;
	const rest = ordered.length - most;
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
				rows={ordered.slice(0, most)}
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
			{rest > 0 && (
				<Button
					class="small"
					onClick={() => setMost(most + MORE)}
					words={`Show more (${formatCount(rest)} left)`}
				/>
			)}
		</Section>
	);
}

interface PieceDialogProps {
	sessionId: string;
	piece: Data<"ContextPiece">;
	onClose(): void;
}

export function PieceDialog({ sessionId, piece, onClose }: PieceDialogProps) {
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
				// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
				<section class="piece-text" aria-label="Text of the piece" tabIndex={0}>
					{read.stretches.map(({ offset, text }) => (
						<pre class="long-text" dir="auto" key={offset}>
							{stretchesOf(text)}
						</pre>
					))}
				</section>
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
	/** The stretch in flight. */
	const [wanted, setWanted] = useState<{ offset: number }>({ offset: 0 });
	const [isAsking, setIsAsking] = useState(true);
	useEffect(() => {
		const stop = new AbortController();
		setIsAsking(true);
		setProblem(undefined);
		const fields = { sessionId, pieceId, offset: wanted.offset };
		client()
			.request("get_context_piece", fields, { signal: stop.signal })
			.then(
				({ data }) => {
					if (stop.signal.aborted) return;
					setRead((before) => addStretch(before, data));
					setIsAsking(false);
				},
				(error: unknown) => {
					if (stop.signal.aborted) return;
					setProblem(textOf(error));
					setIsAsking(false);
				},
			);
		return () => stop.abort();
	}, [sessionId, pieceId, wanted]);
	return { read, problem, isAsking, ask: () => setWanted({ offset: read?.nextOffset ?? 0 }) };
}

export interface ReadText {
	readonly stretches: readonly { readonly offset: number; readonly text: string }[];
	readonly totalChars: number;
	/** Absent at the end. */
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
