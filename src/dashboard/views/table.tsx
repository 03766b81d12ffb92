import "./views.css";
import type { ComponentChildren } from "preact";
import { formatCount } from "../parts/figures.ts";
import { PlainText } from "../parts/text.tsx";

export interface Column<Row> {
	title: string;
	cell(row: Row): ComponentChildren;
	align?: "right";
	/** Its cells name their rows. */
	isRowHeader?: boolean;
	/** The title is for screen readers only. */
	hidesTitle?: boolean;
	/** `roomy`: not on a phone. `wide`: breaks long words. `soft`, `plain`: how its cells look. */
	class?: string;
}

/** A column of numbers or times: they stand on the right. */
type Amounts<Row> = readonly [title: string, cell: (row: Row) => ComponentChildren, own?: string];

/** Columns of a table, those of numbers in short. */
export type Columns<Row> = readonly (Column<Row> | Amounts<Row>)[];

export const FILE_COLUMN: Column<{ path: string }> = {
	title: "File",
	cell: ({ path }) => <PlainText text={path} most={300} />,
	isRowHeader: true,
	class: "wide plain",
};

interface TableProps<Row> {
	label: string;
	columns: Columns<NoInfer<Row>>;
	rows: readonly Row[];
	keyOf(row: Row): string | number;
	classOf?(row: Row): string;
	/** Sums up the others. */
	foot?: Row;
	/** The rest is counted only. Default: all. */
	most?: number;
}

/** It scrolls by itself where the screen is narrow. */
export function Table<Row>(props: TableProps<Row>) {
	const { label, rows, keyOf, classOf, foot, most = rows.length } = props;
	const columns = props.columns.map(whole);
	const cells = (row: Row) =>
		columns.map((column) => {
			const { title, isRowHeader, cell } = column;
			const own = { key: title, class: classesOf(column) };
			return isRowHeader ? (
				<th {...own} scope="row" children={cell(row)} />
			) : (
				<td {...own} children={cell(row)} />
			);
		});
	return (
		<>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
			<section class="table-box" aria-label={label} tabIndex={0}>
				<table>
					<thead>
						<tr>
							{columns.map((column) => (
								<th key={column.title} scope="col" class={classesOf(column)}>
									<span class={column.hidesTitle ? "hidden-text" : "column-title"}>
										{column.title}
									</span>
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.slice(0, most).map((row) => (
							<tr key={keyOf(row)} class={classOf?.(row)}>
								{cells(row)}
							</tr>
						))}
					</tbody>
					{foot !== undefined && (
						<tfoot>
							<tr>{cells(foot)}</tr>
						</tfoot>
					)}
				</table>
			</section>
			<Rest count={rows.length - most} />
		</>
	);
}

export function Rest({ count }: { count: number }) {
	return count > 0 ? <p class="soft">And {formatCount(count)} more.</p> : null;
}

function whole<Row>(column: Columns<Row>[number]): Column<Row> {
	if ("title" in column) return column;
	const [title, cell, own = ""] = column;
	return { title, cell, align: "right", class: own };
}

function classesOf({ align, class: own }: Pick<Column<never>, "align" | "class">) {
	return [align, own].filter(Boolean).join(" ") || undefined;
}
