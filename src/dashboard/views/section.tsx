import { Button } from "../parts/button.tsx";
import "./views.css";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";

interface SectionProps {
	title: string;
	/** Beside the title: what the reader may choose. */
	aside?: ComponentChildren;
	children: ComponentChildren;
}

/** A part of a view under a title of its own. */
export function Section({ title, aside, children }: SectionProps) {
	const id = useId();
	return (
		<section class="card view-section" aria-labelledby={id}>
			<div class="section-head">
				<h2 id={id}>{title}</h2>
				{aside}
			</div>
			{children}
		</section>
	);
}

interface FigureProps {
	name: string;
	value: ComponentChildren;
	note?: ComponentChildren;
	tone?: "good" | "bad" | undefined;
}

/** Figures that matter most, side by side. */
export function Figures({ children }: { children: ComponentChildren }) {
	return <dl class="figures">{children}</dl>;
}

/** One of them. */
export function Figure({ name, value, note, tone }: FigureProps) {
	return (
		<div class={tone ? `figure is-${tone}` : "figure"}>
			<dt>{name}</dt>
			<dd>
				<span class="figure-value">{value}</span>
				{note !== undefined && <span class="figure-note">{note}</span>}
			</dd>
		</div>
	);
}

interface ChoiceProps<Value extends string | number> {
	label: string;
	values: readonly (readonly [NoInfer<Value>, string])[];
	chosen: Value;
	onChoose(value: NoInfer<Value>): void;
}

/** A few buttons of which one is pressed. */
export function Choice<Value extends string | number>(props: ChoiceProps<Value>) {
	const { label, values, chosen, onChoose } = props;
	return (
		<fieldset class="choice">
			<legend class="hidden-text">{label}</legend>
			{values.map(([value, name]) => (
				<Button
					key={value}
					class="small"
					aria-pressed={value === chosen}
					onClick={() => onChoose(value)}
					words={name}
				/>
			))}
		</fieldset>
	);
}

/** The time, every so often: for ages that are shown. */
export function useNow(everyMs = 10_000): number {
	const [now, setNow] = useState(Date.now);
	useEffect(() => {
		const timer = setInterval(() => setNow(Date.now()), everyMs);
		return () => clearInterval(timer);
	}, [everyMs]);
	return now;
}
