import type { Data } from "../../../protocol/index.ts";
import { Scroller } from "../../parts/controls.tsx";
import { ago, formatCount, short } from "../../parts/figures.ts";
import { visibleSpans } from "../../parts/text.tsx";
import { Section, useNow } from "../section.tsx";
import { FILE_COLUMN, Table } from "../table.tsx";

const LAYOUTS: Readonly<Record<Data<"Tiers">["layout"], string>> = {
	log: "Files are part of the conversation; changes are appended at its end.",
	tiers: "Files come before the conversation, the most stable first.",
	off: "The working set is empty or turned off. A file joins it by its piece in Context, or by /workset add <path>; every request then shows the file as it is on disk.",
};

export function WorkingSet({ tiers }: { tiers: Data<"Tiers"> }) {
	const now = useNow();
	const { layout, files, picture } = tiers;
	return (
		<Section title="Working set">
			<p class="soft">{LAYOUTS[layout]}</p>
			{files.length > 0 && (
				<Table
					label="Files of the working set"
					rows={files}
					maxRows={200}
					keyOf={({ path }) => path}
					columns={[
						FILE_COLUMN,
						{ title: "Tier", cell: ({ tier }) => <span class={`tier is-${tier}`}>{tier}</span> },
						["Answers since last change", ({ n }) => formatCount(n), "roomy"],
						["Tokens", ({ tokens }) => short(tokens)],
						["Cache hits", ({ hits }) => formatCount(hits), "roomy"],
						["Changed", ({ lastChangeMs: at }) => (at > 0 ? ago(at, now) : "–"), "soft"],
					]}
				/>
			)}
			{picture !== "" && (
				<Scroller class="prompt-picture" aria-label="Layout of the prompt">
					<pre>{visibleSpans(picture)}</pre>
				</Scroller>
			)}
		</Section>
	);
}
