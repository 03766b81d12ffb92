import { useMemo, useState } from "preact/hooks";
import type { ContextMoment } from "../../../protocol/index.ts";
import { Chart } from "../../chart/chart.tsx";
import { short } from "../../parts/figures.ts";
import { Fold } from "../../parts/fold.tsx";
import { Section, TableBox } from "../section.tsx";
import { KIND_NAMES } from "./bar.ts";
import { type ContextCourse, courseOf } from "./history.ts";
import { kindColour } from "./kind-colour.ts";

/** How the context grew and shrank from request to request. */
export function ContextHistory({ history }: { history: readonly ContextMoment[] }) {
	const [isOpen, setIsOpen] = useState(false);
	const course = useMemo(() => courseOf(history), [history]);
	const numbers = useMemo(() => course.atMs.map((_, at) => at + 1), [course]);
	const rows = useMemo(
		() =>
			course.kinds.map((kind, at) => ({
				name: KIND_NAMES[kind],
				values: course.byKind[at] ?? [],
				colour: kindColour(kind),
			})),
		[course],
	);
	return (
		<Section title="Over time">
			{numbers.length === 0 ? (
				<p class="soft">The first request has not been answered yet.</p>
			) : (
				<>
					<Chart
						label="Tokens of each kind in every request, stacked"
						of="Request"
						shape={numbers.length === 1 ? "columns" : "areas"}
						numbers={numbers}
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

/** The table shows fewer moments than the chart: people read it line by line. */
const MOST_LINES = 60;

function CourseTable({ course }: { course: ContextCourse }) {
	const { kinds, atMs, byKind } = course;
	const first = Math.max(0, atMs.length - MOST_LINES);
	return (
		<TableBox label="Tokens of each kind by request">
			<thead>
				<tr>
					<th scope="col">Request</th>
					<th scope="col">Time</th>
					{kinds.map((kind) => (
						<th scope="col" class="right" key={kind}>
							{KIND_NAMES[kind]}
						</th>
					))}
				</tr>
			</thead>
			<tbody>
				{atMs.slice(first).map((time, row) => (
					<tr key={first + row}>
						<th scope="row">{first + row + 1}</th>
						<td>{new Date(time).toLocaleTimeString()}</td>
						{kinds.map((kind, at) => (
							<td class="right" key={kind}>
								{short(byKind[at]?.[first + row] ?? 0)}
							</td>
						))}
					</tr>
				))}
			</tbody>
		</TableBox>
	);
}
