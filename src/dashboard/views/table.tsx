import "./views.css";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button, Scroller } from "../parts/controls.tsx";
import { formatCount } from "../parts/figures.ts";
import { PlainText } from "../parts/text.tsx";

export interface Column<Row> {
	readonly title: string;
	cell(row: Row): ComponentChildren;
	readonly align?: "right";
	readonly isRowHeader?: boolean;
	readonly hidesTitle?: boolean;
	/** Beside the title. */
	readonly mark?: ComponentChildren;
	/** `roomy`: hidden on a phone. `wide`: breaks long words. `soft`, `plain`: colour and weight of text. */
	readonly class?: string;
}

/** A column of numbers or times, aligned right. */
type Amounts<Row> = readonly [title: string, cell: (row: Row) => ComponentChildren, own?: string];

export type Columns<Row> = readonly (Column<Row> | Amounts<Row>)[];

export const FILE_COLUMN: Column<{ path: string }> = {
	title: "File",
	cell: ({ path }) => <PlainText text={path} max={300} />,
	isRowHeader: true,
	class: "wide plain",
};

interface TableProps<Row> {
	readonly label: string;
	readonly columns: Columns<NoInfer<Row>>;
	readonly rows: readonly Row[];
	keyOf(row: Row): string | number;
	classOf?(row: Row): string;
	readonly foot?: Row;
	/** Maximum number of rows shown at first; the rest is counted. Default: all. */
	readonly maxRows?: number;
	/** Number of rows that the "Show more" button adds. Default: no button. */
	readonly more?: number;
}

/** So few rows are shown rather than counted. */
const FEW = 5;

export function Table<Row>(props: TableProps<Row>) {
	const { label, rows, keyOf, classOf, foot, more } = props;
	const columns = props.columns.map(normalized);
	const [maxRows, setMaxRows] = useState(props.maxRows ?? Number.POSITIVE_INFINITY);
	const rest = rows.length - maxRows > FEW ? rows.length - maxRows : 0;
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
			<Scroller class="table-box" aria-label={label}>
				<table>
					<thead>
						<tr>
							{columns.map((column) => (
								<th key={column.title} scope="col" class={classesOf(column)}>
									<span class={column.hidesTitle ? "hidden-text" : "column-title"}>
										{column.title}
									</span>
									{column.mark !== undefined && <> {column.mark}</>}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.slice(0, rows.length - rest).map((row) => (
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
			</Scroller>
			{more === undefined && <Rest count={rest} />}
			{more !== undefined && rest > 0 && (
				<Button
					class="small"
					onClick={() => setMaxRows(maxRows + more)}
					label={`Show more (${formatCount(rest)} left)`}
				/>
			)}
		</>
	);
}

export function Rest({ count }: { count: number }) {
	return count > 0 ? <p class="soft">And {formatCount(count)} more.</p> : null;
}

function normalized<Row>(column: Columns<Row>[number]): Column<Row> {
	if ("title" in column) return column;
	const [title, cell, own = ""] = column;
	return { title, cell, align: "right", class: own };
}

function classesOf({ align, class: own }: Pick<Column<never>, "align" | "class">) {
	return [align, own].filter(Boolean).join(" ") || undefined;
}
