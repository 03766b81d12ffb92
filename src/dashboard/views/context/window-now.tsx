import { useMemo, useState } from "preact/hooks";
import type { ContextKind, ContextPiece, ContextView } from "../../../protocol/index.ts";
import { Swatch } from "../../chart/chart.tsx";
import { formatCount, formatNumberOf, formatShare, short } from "../../parts/figures.ts";
import { Empty } from "../../parts/notices.tsx";
import { Choice, Figures, Section } from "../section.tsx";
import { Table } from "../table.tsx";
import {
	cachedStretch,
	KIND_NAMES,
	type KindRow,
	kindColour,
	kindsOf,
	layoutBar,
	type PieceOrder,
} from "./bar.ts";
import { PieceBar } from "./piece-bar.tsx";

interface WindowNowProps {
	context: ContextView;
	onShow(piece: ContextPiece): void;
}

export function WindowNow({ context, onShow }: WindowNowProps) {
	const { pieces, tokens, window: size, cachedTokens } = context;
	const [order, setOrder] = useState<PieceOrder>("sent");
	const bar = useMemo(
		() => layoutBar(pieces, { order, cached: cachedStretch(context) }),
		[context, order],
	);
	const kinds = useMemo(() => kindsOf(pieces), [pieces]);
	if (pieces.length === 0) return <Empty>Nothing has been sent to the model yet.</Empty>;
	// The page's head shows pi's own count, which differs a little.
	const share = `${formatShare(tokens / size)} of ${short(size)} tokens, by length; the share above goes by the last bill`;
	const cached = "Last request, from the cache";
	return (
		<Section
			title="In the window now"
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
				of={[
					["In use, estimated", `≈ ${short(tokens)}`, size > 0 ? share : "tokens"],
					cachedTokens === undefined
						? [cached, "–", "no request yet"]
						: [
								cached,
								short(cachedTokens),
								"tokens, counted by the provider, not estimated",
								cachedTokens ? "good" : undefined,
							],
					["Pieces", formatCount(pieces.length), formatNumberOf(kinds.length, "kind")],
				]}
			/>
			{size > 0 && <WindowBar kinds={kinds} tokens={tokens} size={size} />}
			<PieceBar bar={bar} onShow={onShow} />
			<Table
				label="What is in the window, by kind"
				rows={kinds}
				keyOf={({ kind }) => kind}
				columns={[
					{ title: "Kind", cell: ({ kind }) => <KindName kind={kind} />, isRowHeader: true },
					["Tokens", (row) => short(row.tokens)],
					["Of what is in use", (row) => formatShare(row.share), "roomy"],
					["Of the window", (row) => (size > 0 ? formatShare(row.tokens / size) : "–")],
					["Pieces", (row) => formatCount(row.pieces), "roomy"],
				]}
			/>
		</Section>
	);
}

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
				const width = own * scale;
				at += width;
				return (
					<rect key={kind} x={x} width={width} height="10" fill={`var(${kindColour(kind)})`} />
				);
			})}
		</svg>
	);
}

export function KindName({ kind }: { kind: ContextKind }) {
	return (
		<span class="kind-name">
			<Swatch colour={kindColour(kind)} />
			<span class="kind-word">{KIND_NAMES[kind] ?? kind}</span>
		</span>
	);
}
