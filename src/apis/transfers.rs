//! What a call may give: the transfer functions of the interpreter, with their operands. The interpreter gives
//! each its function, and does not compile without one.

use super::words::vocabulary;

vocabulary! {
    /// What a call gives, sorted by name.
    Transfer "transfer"
    classes {
        /// Puts numbers on a device where they were not before.
        places,
        /// The operands have to be on one device.
        meets,
        /// Leaves each number what it is, or what is left of them.
        keeps_values,
        /// Leaves each number where it is, as what it is but for its dtype.
        keeps_layout,
        /// Computes each number of the result from the numbers in its place.
        elementwise,
        /// The result is a function made of the first operand.
        makes_function,
        /// The result is a tensor that nobody has written into.
        allocates,
        /// The result is the first operand in another form: who calls a method of this kind wants that form.
        reforms,
        /// Moves or converts at most: of what holds tensors this may happen in place.
        converts,
        /// Makes one tensor of several.
        combines,
        /// A table of data, or what is one where its operand is.
        keeps_tables,
        /// Says of its operand what no gradient comes of: a size, a dtype, a device.
        asks,
    }
    ActionSpace "action-space" (Word) "a space of this class where the script asks how many actions there are";
    Activated "activated" (Inputs Activation) "derived, then a Keras activation given by name";
    ActivationLayer "activation-layer" (Inputs Activation) "a Keras activation given by name";
    AddedWeight "added-weight" (Shape [Dtype Trainable]) "a new parameter of this layer";
    ApplyFunction "apply-function" (Cls Args Context)
        "the forward of a class, with a context object of that class";
    Arange "arange" (Start Stop Step [Dtype Device RequiresGrad]) [places] "one dimension, counted";
    Argmax "argmax" (X Dim [Keepdim Word]) "no graph; int64 unless a dtype is quoted";
    ArrayFactory "array-factory" (Size [Dtype]) [allocates] "a new numpy array; float64 without a dtype";
    ArrayIdentity "array-identity" (A B [Dtype]) [allocates] "a new numpy matrix, as wide as high without b";
    ArrayLike "array-like" (X) [elementwise reforms] "as like, of an array: a tensor is converted to one first";
    ArrayOf "array-of" (X [Dtype]) "a numpy array of Python numbers, arrays or a tensor";
    ArrayRange "array-range" (Start Stop Step [Dtype]) "one dimension, counted";
    ArrayUnknown "array-unknown" () "a numpy array of unknown shape";
    AsTensor "as-tensor" (X Dtype [Device Word]) [places]
        "the same numbers, graph and all; an array becomes a tensor, with 'automatic' where the framework puts it";
    Asking "asking" (Receiver [RequiresGrad]) "the tensor itself, a leaf from here on";
    Attended "attended" (X OutChannels Heads Concat Asked)
        "the last size is that of all heads where they are joined, else of one; a pair where its weights are asked for, too";
    Attention "attention" (Q K V) [meets] "shape of q with the last dimension of v";
    AttentionPair "attention-pair" (Q K V) "the result of attention, and weights of unknown shape";
    Bool "bool" (; Word) "a Python bool: the one that is quoted, else either";
    BorderedKeras "bordered-keras" (X Padding Rank [Word])
        "channels last, with a border more, or less where 'cropped' is quoted; a number is that of each side";
    Broadcast "broadcast" (X Y; Y) [meets elementwise reforms combines]
        "elementwise on several, shapes broadcast";
    Bunch "bunch" (N Features Dtype ReturnXY) "a small set with `data` and `target`, or both as a pair";
    CallResult "call-result" (F [Args]) "what calling f with these gives";
    Cast "cast" (X Dtype) [keeps_layout reforms converts] "the same numbers in another dtype";
    Cat "cat" (Tensors Dim [Word]) [meets combines]
        "joined along a dimension; one tensor is all there is where 'whole' is quoted, else its rows are joined";
    Children "children" (Receiver) "the submodules";
    Chosen "chosen" (X Size) "a numpy array of numbers that x holds, or of integers below it";
    Chunk "chunk" (X N Dim) "a tuple of n parts";
    ClassIndices "class-indices" (X) "a whole number for each row, in one dimension";
    ClassTable "class-table" () "a numpy matrix of counts, with a row and a column for each class";
    Cloned "cloned" (X) [keeps_values converts] "the same numbers in memory of their own, which are no leaf";
    ClosureResult "closure-result" (Closure) "what the closure gives, else None";
    Compare "compare" (X [Y Word]) [meets elementwise]
        "a bool tensor, broadcast, no graph; by the operator that is quoted";
    CompiledOptimizer "compiled-optimizer" (Model) "what it was compiled with";
    Compose "compose" (Functions X) "what calling them one after another gives";
    ConcatDatasets "concat-datasets" (Datasets) "a dataset of all their samples";
    Conv "conv" (X OutChannels KernelSize Stride Padding Dilation Rank) "a convolution";
    ConvKeras "conv-keras" (X OutChannels KernelSize Stride Padding Rank Activation)
        "a convolution; channels last, padding by name";
    ConvTranspose "conv-transpose" (X OutChannels KernelSize Stride Padding OutputPadding Dilation Rank)
        "a transposed convolution";
    ConvTransposeKeras "conv-transpose-keras" (X OutChannels KernelSize Stride Padding Rank Activation)
        "a transposed convolution; channels last, padding by name";
    CopyModule "copy-module" (Module) "another module with the same layers, no gradients wanted";
    CriterionResult "criterion-result" (Args [Kwargs])
        "a loss in the graph of all of these, of unknown shape; of several results the first";
    DatasetArrays "dataset-arrays" ()
        "((x_train, y_train), (x_test, y_test)), of the sizes in the entry's `dataset`";
    DatasetBatch "dataset-batch" (Receiver N) [reforms] "a dataset of batches";
    DatasetCached "dataset-cached" (Receiver) [reforms] "the same samples, in the order of the first pass";
    DatasetFiltered "dataset-filtered" (Receiver) [reforms] "some of the samples";
    DatasetFlatMap "dataset-flat-map" (Receiver F) [reforms] "the samples of the datasets that f gives";
    DatasetJoined "dataset-joined" (Receiver X) [reforms] "the samples of both, one after the other";
    DatasetLoaded "dataset-loaded" (Cls Split BatchSize Labelled Info)
        "one of these by its name: a part for each split, with labels beside the data, and perhaps what is known of it";
    DatasetMap "dataset-map" (Receiver F) [reforms] "a dataset of what f gives";
    DatasetOf "dataset-of" (X) "a dataset of one sample";
    DatasetRead "dataset-read" ([X]) "a dataset of texts that are read: lines, records of files, names of files";
    DatasetRows "dataset-rows" (Receiver A B C Holder)
        "all samples as stored, bytes of these sizes; 'array' or 'tensor'";
    DatasetSame "dataset-same" (Receiver) [reforms] "the same samples (prefetch, repeat)";
    DatasetShuffled "dataset-shuffled" (Receiver [Flag]) [reforms]
        "the same samples in another order; the flag shuffles them anew each time";
    DatasetSkip "dataset-skip" (Receiver N) [reforms] "all but the first n samples";
    DatasetSlices "dataset-slices" (X) "a dataset of slices along the first dimension";
    DatasetTake "dataset-take" (Receiver N) [reforms] "at most n samples";
    DatasetZip "dataset-zip" (Datasets) "a dataset of tuples, with a sample of each";
    DeepCopy "deep-copy" (X) "an equal value of its own; parameters of a module are other parameters";
    Deepspeed "deepspeed" (Model Optimizer Data Scheduler)
        "(engine, optimizer, loader, scheduler); the engine is a module and steps its optimizer";
    Dense "dense" (X OutFeatures [Activation]) "last dimension becomes out_features";
    DerivativeOf "derivative-of" (F Argnums HasAux [Word]) [makes_function]
        "a function that gives the derivative of what f gives, with 'value' beside its value";
    Derived "derived" (X; X)
        "a tensor computed from these (or from a sequence of them), on their device and in their graph; shape unknown";
    Detach "detach" (X) [keeps_values keeps_layout reforms converts] "the same numbers, no graph";
    Device "device" (X) [asks] "the device a tensor is on, or that a name says";
    DictOf "dict-of" (; X) "a dict (of the keyword arguments, if a `**` parameter is named)";
    DistOf "dist-of" (X [Word Y])
        "a number for each draw that a distribution stands for: 'each' of its parameters, or a 'category' of the last dimension";
    DistRsample "dist-rsample" (X [Shape Word]) "a sample that keeps the graph of the parameters; draws as for dist-of";
    DistSample "dist-sample" (X [Shape Word]) "a sample without graph; draws as for dist-of";
    DrawnSamples "drawn-samples" (N Features Targets Dtype) "a pair of arrays, features and targets";
    Dtype "dtype" (X) [asks] "the dtype of a tensor";
    Dummies "dummies" (X) [keeps_tables] "a table; of a column a share of zero or one for each class";
    EachStep "each-step" (Layer X) "what a layer gives for each step of a sequence, along the second axis";
    Either "either" (F G Args) "what one of the two gives";
    Embedding "embedding" (X NumEmbeddings EmbeddingDim) "a dimension more";
    Encoded "encoded" (ReturnTensors Device Word [Dtype])
        "a mapping of the class that is quoted: tensors on the CPU where PyTorch's are asked for, or on the device";
    Enumerate "enumerate" (X) "pairs of a counter and an element";
    Expand "expand" (X Sizes) [keeps_values reforms] "a view of these sizes, -1 keeps one";
    Factory "factory" (Size [Dtype Device RequiresGrad]) [places allocates] "a new tensor";
    FactoryLike "factory-like" (X [Dtype Device RequiresGrad]) [places allocates]
        "a new tensor of x's shape, dtype and device";
    File "file" ([Name]) "an open file";
    Flatten "flatten" (X Start End) [keeps_values keeps_layout reforms] "dimensions start to end become one";
    Float "float" (; X) "a Python float";
    Folds "folds" () "pairs of the indices of training and of held-out samples, one for each fold";
    FromData "from-data" (Data [Dtype Device RequiresGrad Size]) [places]
        "a new tensor of Python numbers or arrays, of this size where one is given, no graph";
    Gather "gather" (X Dim Index) [meets reforms] "the shape of index, numbers of x";
    Generated "generated" (Receiver Asked [Flag])
        "what a model made without gradients, where it is; asked asks for more, and the flag draws it";
    Generator "generator" ([Seed]) "a random generator";
    GlobalPool "global-pool" (X OutputSize Rank)
        "the last `rank` dimensions become output_size; None keeps one";
    GlobalPoolKeras "global-pool-keras" (X Keepdim Rank) "`rank` dimensions before the last removed";
    Grad "grad" (X) "the gradient that x has accumulated";
    Gradients "gradients" (Target Sources [CreateGraph]) "a tuple of gradients; nothing is accumulated";
    Grid "grid" (Tensors) "of each vector a tensor with an axis for each of them, as a tuple";
    History "history" (Cls Model) "an object of this class, with the numbers of each epoch as its `history`";
    Identity "identity" (A B [Dtype Device RequiresGrad]) [places allocates] "a new matrix, as wide as high without b";
    ImageResized "image-resized" (X Size Word)
        "an image of another size; a number is that of the 'square', or of the shorter 'edge'";
    ImageTensor "image-tensor" (X Dtype [Word]) [places]
        "as `as-tensor`; the channels of an array of an image, which are last, come first";
    Index "index" (X Index [Dim]) "picked along a dimension";
    InnerResult "inner-result" (Receiver Args) "what the function gives that an object was made of, its `f`";
    Instance "instance" (Cls; Places)
        "an instance of the class that this was called on, on the CPU unless one of the others is given";
    InstanceInEval "instance-in-eval" (Cls; Places)
        "an instance of the class that this was called on, as by `instance`, in evaluation mode";
    InstanceRestored "instance-restored" (Cls)
        "an instance of the class that this was called on, with weights from elsewhere; what it was made with is not known";
    Int "int" (; X) "a Python int";
    IsFloatingPoint "is-floating-point" (X) [asks] "whether the dtype of a tensor has fractions; a complex one has none";
    IsTensor "is-tensor" (X) "whether x is a tensor, and no array, number or list";
    Item "item" (X) [keeps_values keeps_layout] "a Python number out of a tensor";
    Iterable "iterable" (X) "the same iterable (progress bars)";
    LabelledStream "labelled-stream" (Cls Kind [Name Flag])
        "batches with labels of this kind, as a dataset of this class; of one part, if that has a name; shuffled each time by the flag";
    LayerOf "layer-of" (Model [Name Index]) "one of its layers";
    Layered "layered" (X [Activation]) "by weights that no object holds, then an activation";
    LayersOf "layers-of" (Model) "its layers";
    LegacyTensor "legacy-tensor" (Data Dtype Device) [places]
        "`torch.FloatTensor(3, 4)` by sizes, or from one sequence of numbers";
    Len "len" (X) [asks] "the first dimension, or the number of elements";
    Like "like" (X; Y) [elementwise reforms keeps_tables]
        "elementwise; shape, dtype, device and graph of x, new numbers; in the graphs of the others, too";
    Linear "linear" (X OutFeatures) "last dimension becomes out_features";
    LinearWeight "linear-weight" (X Weight) [meets] "last dimension becomes the first of weight";
    ListOf "list-of" (X) "a list of the elements";
    Loader "loader" (Dataset BatchSize) "batches of a dataset";
    Loss "loss" (X Y Reduction [Word])
        "a scalar unless reduction is 'none'; then one number for each of the 'rows' of x, or for each of its 'sequences', time first";
    Managed "managed" (Args) "the same values, a tuple when several, now in an engine's care";
    ManagedDevice "managed-device" (X) "the same value, on the device of an engine";
    ManagedDeviceName "managed-device-name" () "the device that an engine has chosen";
    ManagedFirst "managed-first" (X Rest) "as managed, x in front of the tuple rest";
    ManagedPair "managed-pair" (Models Optimizers) "both, as a tuple; models alone without optimizers";
    Mapped "mapped" (F) [makes_function] "a function that runs f over a batch";
    MappedTree "mapped-tree" (F X [Rest]) "a tree of what f gives of the leaves of trees that are alike";
    Matmul "matmul" (X Y) [meets] "matrix product, batched";
    MatmulTurned "matmul-turned" (X Y; Flag) [meets] "the same, where by turns flags say which of them is transposed first";
    MaxPair "max-pair" (X Y) [meets elementwise] "elementwise, the larger";
    Merge "merge" (Inputs) "elementwise on a list";
    MinPair "min-pair" (X Y) [meets elementwise] "elementwise, the smaller";
    ModeFlag "mode-flag" (Receiver) "whether a module is in training, not known here";
    ModelOutput "model-output" (Args Kwargs)
        "an object of tensors (loss, logits, ...) in the graph of a model, also a tuple";
    ModelOutputOf "model-output-of" (Model) "what it gives, as a symbolic value";
    ModuleOptimizers "module-optimizers" (Receiver) "what `configure_optimizers` returned";
    ModuleResult "module-result" (Module Args) "what calling it gives, its parameters handed to it";
    Modules "modules" (Receiver) "the module and all below it";
    Moved "moved" (Receiver [Args Device Dtype]) "a module in place, to a device or dtype; gives itself";
    NamedChildren "named-children" (Receiver) "pairs of a name and a submodule";
    NamedModules "named-modules" (Receiver) "pairs of a name and a module, itself and all below";
    NamedParameters "named-parameters" (Receiver) "pairs of a name and a parameter";
    Ndim "ndim" (X) [asks] "how many dimensions";
    NewFactory "new-factory" (X Size [Dtype Device RequiresGrad]) [places allocates]
        "a new tensor of this size, else with dtype and device of x";
    NewTensor "new-tensor" (X Data [Dtype Device RequiresGrad]) [places]
        "a new tensor of these numbers, else with dtype and device of x";
    None "none" () "None";
    NormOfGradients "norm-of-gradients" (X) "a scalar where these parameters are, in no graph";
    Normal "normal" (X Y Size [Dtype Device RequiresGrad]) [places allocates]
        "a new tensor of this size; without one numbers drawn for those of the others";
    Numel "numel" (X) [asks] "how many numbers, a Python int";
    Numpy "numpy" (X) "a numpy array, no graph";
    OnGpu "on-gpu" ([Word])
        "as `bool`, of a question for the device that decides what a script computes where";
    OnGpuAs "on-gpu-as" (X) "whether x is on a GPU";
    OneHot "one-hot" (X NumClasses [Word]) "a dimension more, in the place of a last one of one where 'column' is quoted; int64 unless a dtype is quoted";
    OpaqueModule "opaque-module" ([Class Head Features Channels Classes Last Width Word])
        "a module whose layers are unknown, that learns; its last one, if that is set, is `head`, which gets so many features ('_' for some), and it is in training mode; its first takes images of so many channels, and it gives logits of so many classes, for each pixel where 'pixels' is quoted; where its head is several layers, the path of the last one, which gets so many features; names that are parted by bars are alternatives";
    OptionalReduce "optional-reduce" (X Dim [Keepdim])
        "a scalar; (values, indices) when dim is given; elementwise with dim when that is a tensor (max, min)";
    Outcomes "outcomes" (; Word) "one of these rows of parts, by how many names take it";
    Packed "packed" (X) [keeps_values converts] "x as a packed sequence, whose `data` is what it holds, in its graph";
    Pad "pad" (X Padding [Rank]) [reforms]
        "the trailing dimensions grow, innermost first; an integer pads all of `rank`";
    PaddedPair "padded-pair" (X) "what x packs, and int64 lengths";
    ParamGroups "param-groups" (Optimizer) "a list of dicts, whose `params` are what it steps";
    Parameter "parameter" (Data [RequiresGrad]) "a leaf that learns, data's shape and device";
    Parameters "parameters" (Receiver) "the parameters of a module";
    Permute "permute" (X Dims) [keeps_values reforms] "dimensions in another order";
    Permuted "permuted" (X) "a numpy array of the integers below a number, or of what an array holds, in any order";
    PixelShuffle "pixel-shuffle" (X ScaleFactor [Word]) [keeps_values reforms]
        "channels become pixels: each side is so many times as long, or as short where 'back' is quoted";
    Place "place" (X Device) [places keeps_values keeps_layout reforms converts]
        "a tensor on this device; an integer counts CUDA devices";
    Pool "pool" (X KernelSize Stride Padding Rank) "pooling; the stride is the kernel where it is left out";
    PoolKeras "pool-keras" (X KernelSize Stride Padding Rank) "channels last, padding by name";
    Randint "randint" (Low High Size [Dtype Device RequiresGrad]) [places]
        "integers; with high left out, from zero to low";
    RandomKey "random-key" () "a new key of random numbers";
    RandomKeys "random-keys" (N) "so many new keys of random numbers";
    Range "range" (Args) "as the builtin";
    Record "record" (Cls) "an object whose attributes are the arguments";
    Recurrent "recurrent" (X HiddenSize NumLayers BatchFirst Bidirectional [Kind])
        "output and state ('lstm' has a pair)";
    RecurrentCell "recurrent-cell" (X HiddenSize [Kind]) "the state ('lstm' gives a pair)";
    RecurrentKeras "recurrent-keras" (Inputs Units ReturnSequences ReturnState)
        "the last output or all of them, with the state where it is asked for";
    Reduce "reduce" (X [Dim Keepdim OldDim OldKeepdim])
        "dimensions removed, all without dim; older names of both may follow";
    ReducePair "reduce-pair" (X Dim [Keepdim]) "(values, indices)";
    Repeat "repeat" (X Sizes) [reforms] "tiled";
    ReplicaResult "replica-result" (Strategy F [Args Kwargs]) "what f gives in one of its replicas";
    Reshape "reshape" (X Shape) [keeps_values reforms] "one -1 is filled in";
    ReshapeBatched "reshape-batched" (Inputs Shape) "the first dimension stays";
    Reversed "reversed" (X) [keeps_values reforms] "a view in the opposite order, of an array with negative strides";
    Same "same" (X) [keeps_values converts keeps_tables] "the same value";
    Scaled "scaled" (Scaler X) "the same numbers times the scale of a scaler of gradients";
    Scanned "scanned" (F Init Xs) "the state that f carries from row to row, and what it gives for each";
    Itself "self" ([X]; Y) [keeps_values keeps_layout]
        "the receiver itself, or x where it is named, changed in place, and in the graphs of the others, too";
    Sequential "sequential" (X) "the children called in order";
    Shape "shape" (X) [asks] "the sizes, a tuple";
    ShapedAs "shaped-as" (X Y) [keeps_values reforms] "the same numbers in the shape of y";
    Size "size" (X [Dim]) [asks] "the sizes, or one";
    Sort "sort" (X Dim) "(values, indices) of x's shape";
    Sparse "sparse" (Values [Size Dtype Device RequiresGrad]) "what holds the values, where they are";
    Split "split" (X Size Dim) "a tuple of parts of this size";
    SplitArrays "split-arrays" (Arrays) "of each array a part to train on and a part to test on";
    SplitDataset "split-dataset" (Dataset Lengths) "a tuple of datasets; lengths below one are fractions";
    Squeeze "squeeze" (X [Dim]) [keeps_values reforms] "dimensions of one removed";
    Stack "stack" (Tensors Dim) [meets combines] "joined along a new dimension";
    StackedLayers "stacked-layers" (Layers) "a model that calls its layers in order";
    Standardized "standardized" (X Mean Std) [elementwise] "each channel less its mean, divided by its deviation";
    StateDict "state-dict" (Receiver) "tensors of a module or optimizer by name, no graph";
    Str "str" (; X) "a Python str";
    SumOf "sum-of" (X) "the sum of a Python iterable";
    SymbolicInput "symbolic-input" (Shape [BatchSize]) "a symbolic tensor with a batch dimension in front";
    SymbolicModel "symbolic-model" (Inputs Outputs) "a model from symbolic tensors";
    Table "table" ([Delimiter]) [keeps_tables]
        "an array of rows and columns; of unknown shape where the delimiter is left out";
    TableColumn "table-column" (X) [keeps_tables] "one number for each row";
    TableRows "table-rows" (X [Axis Columns]) [keeps_tables] "another number of rows, or of columns along axis 1";
    TakeSamples "take-samples" (Dataset [Indices]) "fewer samples of a dataset";
    TensorDataset "tensor-dataset" (Tensors) "a dataset of rows, as long as the first dimension";
    To "to" (X Args [Device Dtype]) [places keeps_values keeps_layout reforms converts]
        "a tensor on another device, in another dtype, or both, as the arguments say";
    TokenIds "token-ids" (ReturnTensors)
        "token ids: a tensor on the CPU where PyTorch's are asked for, a list where none are";
    Tolist "tolist" (X) "nested lists of Python numbers";
    Topk "topk" (X K Dim) "(values, indices), k long";
    Traced "traced" (F) "the same function, recorded as a graph";
    Transformed "transformed" (Receiver X)
        "what a transformer of data makes of x: an array of the same shape";
    Transpose "transpose" (X A B) [keeps_values reforms] "two dimensions swapped";
    TupleOf "tuple-of" (X; X) "a tuple of these";
    Turned "turned" (X K) [keeps_values reforms] "k times turned around by a right angle, as a view; shape unknown";
    Unbind "unbind" (X Dim) "a tuple along a dimension";
    Unflatten "unflatten" (X Dim Sizes) [reforms] "one dimension becomes several";
    Unfold "unfold" (X Dim Size Step) "windows";
    Unknown "unknown" (; X) "nothing is known";
    Unrecorded "unrecorded" (X; X) "as derived, in no graph: it runs without gradients";
    Unsqueeze "unsqueeze" (X Dim) [keeps_values reforms] "a dimension of one more";
    Upsample "upsample" (X Size [ScaleFactor]) [reforms] "the trailing dimensions grow";
    UpsampleKeras "upsample-keras" (X Size Rank) "channels last, each of the sizes between times this";
    Variable "variable" (Data [RequiresGrad Volatile]) [keeps_values keeps_layout]
        "the tensor itself, as a leaf where requires_grad is true";
    View "view" (X Shape; Shape) [keeps_values reforms] "the same numbers in this shape";
    Where "where" (C X Y) [meets elementwise reforms] "x where c holds, else y";
    Wrap "wrap" (Module [Devices Device])
        "the module itself, wrapped; inputs go to the devices unless they are None, the module to the device";
    Zip "zip" (Args) "tuples of elements";
}
