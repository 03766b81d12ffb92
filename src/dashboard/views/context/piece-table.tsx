import { useMemo, useState } from "preact/hooks";
import type { ContextPiece } from "../../../protocol/index.ts";
import { Button, TextButton } from "../../parts/button.tsx";
import { ago, formatCount, short } from "../../parts/figures.ts";
import { Choice, Section, useNow } from "../section.tsx";
import { Table } from "../table.tsx";
import { labelOf } from "./bar.ts";
import { KindName } from "./window-now.tsx";

const FIRST = 50;
const MORE = 200;

interface PieceTableProps {
	pieces: readonly ContextPiece[];
	onShow(piece: ContextPiece): void;
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
