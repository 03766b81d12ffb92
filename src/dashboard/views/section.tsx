import "./views.css";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { Button } from "../parts/controls.tsx";
import { MadeUp } from "../session/demo-banner.tsx";

interface SectionProps {
	readonly title: string;
	readonly aside?: ComponentChildren;
	/** All dollars in the section are those of the demo. */
	readonly isMadeUp?: boolean;
	readonly children: ComponentChildren;
}

export function Section({ title, aside, isMadeUp = false, children }: SectionProps) {
	const id = useId();
	return (
		<section class="card view-section" aria-labelledby={id}>
			<div class="section-head row">
				<div class="line">
					<h2 id={id}>{title}</h2>
					<MadeUp isShown={isMadeUp} />
				</div>
				{aside}
			</div>
			{children}
		</section>
	);
}

export type Figure = readonly [
	name: string,
	value: ComponentChildren,
	note?: ComponentChildren,
	tone?: "good" | "bad" | undefined,
];

export function Figures({ figures }: { figures: readonly (Figure | undefined)[] }) {
	return (
		<dl class="figures">
			{figures.map((figure) => {
				if (!figure) return null;
				const [name, value, note, tone] = figure;
				return (
					<div key={name} class="figure">
						<dt class="soft small">{name}</dt>
						<dd>
							<span class={`figure-value number ${tone ?? ""}`}>{value}</span>
							{note !== undefined && <span class="soft small">{note}</span>}
						</dd>
					</div>
				);
			})}
		</dl>
	);
}

interface ChoiceProps<Value extends string> {
	readonly label: string;
	readonly values: Readonly<Record<Value, string>>;
	readonly chosen: NoInfer<Value>;
	onChoose(value: NoInfer<Value>): void;
}

export function Choice<Value extends string>(props: ChoiceProps<Value>) {
	const { label, values, chosen, onChoose } = props;
	return (
		<fieldset class="choice">
			<legend class="hidden-text">{label}</legend>
			{(Object.keys(values) as Value[]).map((value) => (
				<Button
					key={value}
					class="small"
					aria-pressed={value === chosen}
					onClick={() => onChoose(value)}
					label={values[value]}
				/>
			))}
		</fieldset>
	);
}

/** The current time in ms, updated every 10 s. For texts such as `4 min ago`. */
export function useNow(): number {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), 10_000);
		return () => clearInterval(timer);
	}, []);
	return now;
}
