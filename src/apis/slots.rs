//! The names of operands, shared by all vocabularies: who reads an operand asks for it by name, wherever a word has it.

macro_rules! slots {
    ($($Slot:ident $name:literal,)*) => {
        /// The place of an operand, by what is expected there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Slot { $($Slot,)* }

        impl Slot {
            pub const ALL: &[Slot] = &[$(Slot::$Slot,)*];

            /// As the documentation of the tables has it.
            pub fn name(self) -> &'static str {
                match self { $(Slot::$Slot => $name,)* }
            }
        }
    };
}

slots! {
    A "a", Activation "activation", Alpha "alpha", Argnums "argnums", Args "args", Arrays "arrays", Asked "asked",
    Axis "axis", B "b", BatchFirst "batch_first", BatchSize "batch_size", Beta "beta", Bias "bias", Channels "channels",
    Bidirectional "bidirectional", Bound "bound", C "c", Class "class", Classes "classes", Closure "closure", Cls "cls",
    Columns "columns", Concat "concat", Context "context", Correction "correction", CreateGraph "create_graph", Data "data",
    Dataset "dataset", Datasets "datasets", Delimiter "delimiter", Delta "delta", Device "device",
    Devices "devices", Dilation "dilation", Dim "dim", Dims "dims", Dtype "dtype",
    EmbeddingDim "embedding_dim", End "end", Epoch "epoch", Epsilon "epsilon", F "f", Features "features",
    Flag "flag", Functions "functions", G "g", Gradient "gradient", Group "group",
    HasAux "has_aux", Head "head", Heads "heads", HiddenSize "hidden_size", High "high", Holder "holder", Index "index",
    Indices "indices", Info "info", Init "init", Inputs "inputs", Iterator "iterator", K "k", Keepdim "keepdim",
    KernelSize "kernel_size", Kind "kind", Kwargs "kwargs", Labelled "labelled", Last "last", Layer "layer",
    Layers "layers", Lengths "lengths", Loss "loss", Low "low", Mask "mask", Mean "mean", Model "model", Models "models",
    Module "module", N "n", Name "name", NumClasses "num_classes", NumEmbeddings "num_embeddings",
    NumLayers "num_layers", OldDim "old_dim", OldHigh "old_high", OldKeepdim "old_keepdim",
    OldLow "old_low", Optimizer "optimizer", Optimizers "optimizers", Order "order",
    OutChannels "out_channels", OutFeatures "out_features", OutputPadding "output_padding",
    OutputSize "output_size", Outputs "outputs", P "p", Padding "padding", Parameters "parameters",
    Places "places", Q "q", Rank "rank", Reduction "reduction", Receiver "self", Reentrant "reentrant",
    Repeats "repeats",
    RequiresGrad "requires_grad", Rest "rest", RetainGraph "retain_graph",
    ReturnSequences "return_sequences", ReturnState "return_state", ReturnTensors "return_tensors", ReturnXY "return_X_y",
    Sampler "sampler", ScaleFactor "scale_factor", Scaler "scaler", Scheduler "scheduler", Seed "seed",
    Shape "shape", Size "size", Sizes "sizes", Slope "slope", Sources "sources", Split "split", Src "src",
    Start "start", Std "std", Step "step", Stop "stop", Strategy "strategy", Stride "stride",
    Target "target", Targets "targets", Tensors "tensors", Threshold "threshold", Trainable "trainable",
    Training "training", Unbiased "unbiased", Units "units", V "v", Value "value", Values "values",
    Variables "variables", Volatile "volatile", Weight "weight", Width "width", Word "word", X "x", Xs "xs", Y "y",
}
