import type { Tiers } from "../../../protocol/index.ts";
import { ago, short } from "../../parts/figures.ts";
import { stretchesOf } from "../../parts/text.tsx";
import { FILE_COLUMN } from "../file-column.tsx";
import { formatCount } from "../format.ts";
import { Section } from "../section.tsx";
import { Table } from "../table.tsx";
import { useNow } from "../use-now.ts";

const LAYOUTS: Readonly<Record<Tiers["layout"], string>> = {
	log: "Files lie in the conversation, and what changes is added at its end.",
	tiers: "Files lie before the conversation, the most stable first.",
	off: "The working set is empty or switched off.",
};

/** The files that are kept before the model's eyes, and where they lie in the prompt. */
export function WorkingSet({ tiers }: { tiers: Tiers }) {
	const now = useNow();
	const { layout, files, picture } = tiers;
	return (
		<Section title="Working set">
			<p class="soft">{LAYOUTS[layout]}</p>
			{files.length > 0 && (
				<Table
					label="Files of the working set"
					rows={files}
					most={200}
					keyOf={({ path }) => path}
					columns={[
						FILE_COLUMN,
						{
							title: "Tier",
							cell: ({ tier }) => <span class={`tier is-${tier}`}>{tier}</span>,
						},
						{
							title: "Answers unchanged",
							cell: ({ n }) => formatCount(n),
							align: "right",
							class: "roomy",
						},
						{ title: "Tokens", cell: ({ tokens }) => short(tokens), align: "right" },
						{
							title: "Cache hits",
							cell: ({ hits }) => formatCount(hits),
							align: "right",
							class: "roomy",
						},
						{
							title: "Changed",
							cell: ({ lastChangeMs }) => (lastChangeMs > 0 ? ago(lastChangeMs, now) : "–"),
							align: "right",
							class: "soft",
						},
					]}
				/>
			)}
			{picture !== "" && (
				// biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
				<section class="prompt-picture" aria-label="The prompt from first to last" tabIndex={0}>
					<pre>{stretchesOf(picture)}</pre>
				</section>
			)}
		</Section>
	);
}
