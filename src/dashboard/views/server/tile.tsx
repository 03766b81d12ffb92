import { sparkPoints } from "./samples.ts";

interface TileProps {
	name: string;
	value: string;
	note: string;
	/** The latest last. */
	values: readonly number[];
}

const SIZE = { width: 200, height: 36 };

/** A figure with the line of its last minutes. */
export function Tile({ name, value, note, values }: TileProps) {
	const points = sparkPoints(values, SIZE);
	return (
		<div class="tile">
			<p class="tile-name">{name}</p>
			<p class="tile-value">{value}</p>
			<svg
				class="spark"
				viewBox={`0 -2 ${SIZE.width} ${SIZE.height + 4}`}
				preserveAspectRatio="none"
				aria-hidden="true"
			>
				{values.length > 1 && (
					<>
						<polygon points={`0,${SIZE.height} ${points} ${SIZE.width},${SIZE.height}`} />
						<polyline points={points} />
					</>
				)}
			</svg>
			<p class="tile-note">{note}</p>
		</div>
	);
}
