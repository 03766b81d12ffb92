import { useMemo, useState } from "preact/hooks";
import type { ContextPiece } from "../../../protocol/index.ts";
import { ago, short } from "../../parts/figures.ts";
import { PlainText } from "../../parts/text.tsx";
import { formatCount } from "../format.ts";
import { Choice, Section, TableBox } from "../section.tsx";
import { useNow } from "../use-now.ts";
import { KIND_NAMES } from "./bar.ts";
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
			<TableBox label="Pieces of the context">
				<thead>
					<tr>
						<th scope="col" class="right roomy">
							#
						</th>
						<th scope="col" class="piece-kind">
							<span class="kind-word">Kind</span>
						</th>
						<th scope="col">Piece</th>
						<th scope="col" class="right">
							Tokens
						</th>
						<th scope="col" class="right roomy">
							Stands for
						</th>
						<th scope="col" class="right">
							Since
						</th>
					</tr>
				</thead>
				<tbody>
					{ordered.slice(0, most).map(({ piece, number }) => (
						<tr key={piece.id}>
							<td class="right soft roomy">{number}</td>
							<td class="piece-kind">
								<KindName kind={piece.kind} name={KIND_NAMES[piece.kind] ?? piece.kind} />
							</td>
							<td class="wide piece-name">
								<button type="button" class="link" onClick={() => onShow(piece)}>
									<PlainText text={piece.label} most={200} />
								</button>
							</td>
							<td class="right">{short(piece.tokens)}</td>
							<td class="right soft roomy">
								{piece.replacedTokens === undefined ? "" : short(piece.replacedTokens)}
							</td>
							<td class="right soft">{ago(piece.sinceMs, now)}</td>
						</tr>
					))}
				</tbody>
			</TableBox>
			{rest > 0 && (
				<button type="button" class="small" onClick={() => setMost(most + MORE)}>
					Show more ({formatCount(rest)} left)
				</button>
			)}
		</Section>
	);
}
