import { useMemo, useState } from "preact/hooks";
import type { ContextPiece } from "../../../protocol/index.ts";
import { ago, formatCount, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { Choice, Section, useNow } from "../section.tsx";
import { Table } from "../table.tsx";
import { KIND_NAMES, labelOf } from "./bar.ts";
import { KindName } from "./window-now.tsx";

const FIRST = 50;
const MORE = 200;

/** Every piece with its size and age; each opens to its text. */
export function PieceTable({
	pieces,
	onShow,
}: {
	pieces: readonly ContextPiece[];
	onShow(piece: ContextPiece): void;
}) {
	const [order, setOrder] = useState<"sent" | "size">("sent");
	const [most, setMost] = useState(FIRST);
	const now = useNow();
	const ordered = useMemo(() => {
		const numbered = pieces.map((piece, at) => ({ piece, number: at + 1 }));
		if (order === "size") numbered.sort((one, other) => other.piece.tokens - one.piece.tokens);
		return numbered;
	}, [pieces, order]);
	if (pieces.length === 0) return null;
	const rest = ordered.length - most;
	return (
		<Section
			title="Pieces"
			aside={
				<Choice
					label="Order of the table"
					values={[
						["sent", "As sent"],
						["size", "Largest first"],
					]}
					chosen={order}
					onChoose={setOrder}
				/>
			}
		>
			<Table
				label="Pieces of the context"
				rows={ordered.slice(0, most)}
				keyOf={({ piece }) => piece.id}
				columns={[
					{ title: "#", cell: ({ number }) => number, align: "right", class: "soft roomy" },
					{
						title: "Kind",
						cell: ({ piece: { kind } }) => <KindName kind={kind} name={KIND_NAMES[kind] ?? kind} />,
						class: "piece-kind",
					},
					{
						title: "Piece",
						cell: ({ piece }) => (
							<button type="button" class="link" onClick={() => onShow(piece)}>
								<PlainText text={labelOf(piece)} most={200} />
							</button>
						),
						class: "wide piece-name",
					},
					{ title: "Tokens", cell: ({ piece }) => short(piece.tokens), align: "right" },
					{
						title: "Stands for",
						cell: ({ piece: { replacedTokens } }) =>
							replacedTokens === undefined ? "" : short(replacedTokens),
						align: "right",
						class: "soft roomy",
					},
					{
						title: "Since",
						cell: ({ piece }) => ago(piece.sinceMs, now),
						align: "right",
						class: "soft",
					},
				]}
			/>
			{rest > 0 && (
				<button type="button" class="small" onClick={() => setMost(most + MORE)}>
					Show more ({formatCount(rest)} left)
				</button>
			)}
		</Section>
	);
}
