import "./context.css";
import { useMemo, useState } from "preact/hooks";
import type { Data } from "../../../protocol/index.ts";
import { useAnswer } from "../../answer.ts";
import { Chart } from "../../chart/chart.tsx";
import { Fold } from "../../parts/controls.tsx";
import { formatCount, short } from "../../parts/figures.ts";
import { Answered } from "../../parts/notices.tsx";
import type { SessionViewProps } from "../../session/open-session.ts";
import { Section } from "../section.tsx";
import { type Columns, Table } from "../table.tsx";
import { KIND_NAMES, KINDS, kindColour, totalOf } from "./bar.ts";
import { PieceDialog, PieceTable } from "./piece-table.tsx";
import { WindowNow } from "./window-now.tsx";

export function ContextView({ sessionId, changes }: SessionViewProps) {
	const asked = useAnswer("get_context_view", { sessionId }, changes.value);
	const [shown, setShown] = useState<Data<"ContextPiece">>();
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

/** People read a table line by line. */
const MOST_LINES = 60;

function CourseTable({ course }: { course: ContextCourse }) {
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

/** `byKind[i]` belongs to `kinds[i]` and has one value for each moment. */
interface ContextCourse {
	readonly kinds: readonly Data<"ContextKind">[];
	/** Of many requests only some are kept. */
	readonly requests: readonly number[];
	readonly atMs: readonly number[];
	readonly byKind: readonly (readonly number[])[];
}

export function courseOf(history: readonly Data<"ContextMoment">[], most = 200): ContextCourse {
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
export function thinned(
	history: readonly Data<"ContextMoment">[],
	most: number,
): readonly Data<"ContextMoment">[] {
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
