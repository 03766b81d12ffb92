import { useMemo, useState } from "preact/hooks";
import type { ContextPiece, ContextView } from "../../../protocol/index.ts";
import { formatCount, formatNumberOf, formatShare, short } from "../../parts/figures.ts";
import { Empty } from "../../parts/notices.tsx";
import { Choice, Figure, Figures, Section } from "../section.tsx";
import { Table } from "../table.tsx";
import {
	cachedStretch,
	type KindRow,
	kindColour,
	kindsOf,
	layoutBar,
	type PieceOrder,
} from "./bar.ts";
import { PieceBar } from "./piece-bar.tsx";

/** What is in the window now: how full it is, what fills it, and what of it was cached. */
export function WindowNow({
	context,
	onShow,
}: {
	context: ContextView;
	onShow(piece: ContextPiece): void;
}) {
	const { pieces, tokens, window: size, cachedTokens } = context;
	const [order, setOrder] = useState<PieceOrder>("sent");
	const bar = useMemo(
		() => layoutBar(pieces, { order, cached: cachedStretch(context) }),
		[context, order],
	);
	const kinds = useMemo(() => kindsOf(pieces), [pieces]);
	if (pieces.length === 0) return <Empty>Nothing has been sent to the model yet.</Empty>;
	return (
		<Section
			title="In the window now"
			aside={
				<Choice
					label="Order of the pieces"
					values={[
						["sent", "As sent"],
						["kind", "By kind"],
					]}
					chosen={order}
					onChoose={setOrder}
				/>
			}
		>
			<Figures>
				<Figure
					name="In use, estimated"
					value={`≈ ${short(tokens)}`}
					// The head of the page shows pi's own count, which differs a little.
					note={
						size > 0
							? `${formatShare(tokens / size)} of ${short(size)} tokens, by length; the share above goes by the last bill`
							: "tokens"
					}
				/>
				<Figure
					name="Last request, from the cache"
					value={cachedTokens === undefined ? "–" : short(cachedTokens)}
					note={
						cachedTokens === undefined
							? "no request yet"
							: "tokens, counted by the provider, not estimated"
					}
					tone={cachedTokens ? "good" : undefined}
				/>
				<Figure
					name="Pieces"
					value={formatCount(pieces.length)}
					note={formatNumberOf(kinds.length, "kind")}
				/>
			</Figures>
			{size > 0 && <WindowBar kinds={kinds} tokens={tokens} size={size} />}
			<PieceBar bar={bar} onShow={onShow} />
			<KindTable kinds={kinds} size={size} />
		</Section>
	);
}

/** How full the window is, at its true scale. */
function WindowBar({ kinds, tokens, size }: { kinds: KindRow[]; tokens: number; size: number }) {
	const scale = 1000 / Math.max(size, tokens);
	let at = 0;
	return (
		<svg
			class="window-bar"
			viewBox="0 0 1000 10"
			preserveAspectRatio="none"
			role="img"
			aria-label={`${formatShare(tokens / size)} of the window is in use`}
		>
			<rect class="window-free" width="1000" height="10" />
			{kinds.map(({ kind, tokens: own }) => {
				const x = at;
				at += own * scale;
				return (
					<rect
						key={kind}
						x={x}
						width={own * scale}
						height="10"
						fill={`var(${kindColour(kind)})`}
					/>
				);
			})}
		</svg>
	);
}

function KindTable({ kinds, size }: { kinds: KindRow[]; size: number }) {
	return (
		<Table
			label="What is in the window, by kind"
			rows={kinds}
			keyOf={({ kind }) => kind}
			columns={[
				{ title: "Kind", cell: (row) => <KindName {...row} />, isRowHeader: true },
				{ title: "Tokens", cell: ({ tokens }) => short(tokens), align: "right" },
				{
					title: "Of what is in use",
					cell: ({ share }) => formatShare(share),
					align: "right",
					class: "roomy",
				},
				{
					title: "Of the window",
					cell: ({ tokens }) => (size > 0 ? formatShare(tokens / size) : "–"),
					align: "right",
				},
				{
					title: "Pieces",
					cell: ({ pieces }) => formatCount(pieces),
					align: "right",
					class: "roomy",
				},
			]}
		/>
	);
}

/** A kind in its colour. */
export function KindName({ kind, name }: Pick<KindRow, "kind" | "name">) {
	return (
		<span class="kind-name">
			<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
				<rect width="10" height="10" rx="2" fill={`var(${kindColour(kind)})`} />
			</svg>
			<span class="kind-word">{name}</span>
		</span>
	);
}
