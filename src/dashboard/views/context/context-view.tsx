import "./context.css";
import { useMemo, useState } from "preact/hooks";
import type { ContextPiece } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Empty, Problem } from "../../parts/notices.tsx";
import type { SessionViewProps } from "../../views.ts";
import { ContextHistory } from "./context-history.tsx";
import { PieceDialog } from "./piece-dialog.tsx";
import { PieceTable } from "./piece-table.tsx";
import { WindowNow } from "./window-now.tsx";

/** What the model sees now, piece by piece, and how that came to be. */
export function ContextView({ sessionId, changes }: SessionViewProps) {
	const { data, error, refresh } = useAnswer("get_context_view", { sessionId }, changes.value);
	const [shown, setShown] = useState<ContextPiece>();
	const history = useMemo(() => data?.history ?? [], [data]);
	return (
		<div class="view">
			{error !== undefined && <Problem text={error} onRetry={refresh} />}
			{!data && error === undefined && <Empty>Looking into the window…</Empty>}
			{data && (
				<>
					<WindowNow context={data} onShow={setShown} />
					<ContextHistory history={history} />
					<PieceTable pieces={data.pieces} onShow={setShown} />
				</>
			)}
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
