"""The data sets: those of the paper, two of student grades, and two system identification benchmarks.

Fingerprints are sha256 checksums of the original values. A download with other values is rejected; how its file is
packed does not matter.
"""

from csid.datasets.descriptions import Description, File, Origin
from csid.datasets.originals import Reader, from_csv, from_mat, from_rda, from_xlsx, from_zip

_UCI_LICENCE = "CC BY 4.0"


def _uci(number: int, file: str, *readers: Reader) -> tuple[Origin, ...]:
    """A download from the UCI repository: an archive of original files, or the repository's own `data.csv`."""
    return (Origin(f"https://archive.ics.uci.edu/static/public/{number}/{file}", file, readers),)


_SETS = (
    Description(
        name="energy",
        title="Energy efficiency of buildings",
        task="Heating load (Y1) and cooling load (Y2) of 768 simulated buildings, from their geometry.",
        target=("Y1", "Y2"),
        categorical=("X6", "X8"),
        licence=_UCI_LICENCE,
        citation=(
            "A. Tsanas and A. Xifara (2012), Accurate quantitative estimation of energy performance of residential "
            "buildings using statistical machine learning tools, Energy and Buildings 49. doi:10.24432/C51307"
        ),
        page="https://archive.ics.uci.edu/dataset/242",
        files=(File("paper/energy.csv.gz", "e037c27e5c8c507c899ba01728d56fcdc346099b2e5d0d2b8ea7cbd111289e05"),),
        # the repository's data.csv rounds one value of Y1, 6.366 in the workbook, to 6.37
        origins=_uci(242, "energy+efficiency.zip", from_zip("ENB2012_data.xlsx", from_xlsx)),
    ),
    Description(
        name="concrete",
        title="Concrete compressive strength",
        task="Compressive strength in MPa of 1030 concrete samples, from their ingredients and age.",
        target=("Strength",),
        licence=_UCI_LICENCE,
        citation=(
            "I-C. Yeh (1998), Modeling of strength of high-performance concrete using artificial neural networks, "
            "Cement and Concrete Research 28(12). doi:10.24432/C5PK67"
        ),
        page="https://archive.ics.uci.edu/dataset/165",
        files=(File("paper/concrete.csv.gz", "f70de6e4daf9998736dd5ffbd80ad953b71a0ff518545710697b080aee2a3068"),),
        # the repository's archive contains a workbook with more digits; papers use this rounded version
        origins=_uci(
            165,
            "data.csv",
            from_csv(
                names=(
                    "Cement",
                    "BlastFurnaceSlag",
                    "FlyAsh",
                    "Water",
                    "Superplasticizer",
                    "CoarseAggregate",
                    "FineAggregate",
                    "Age",
                    "Strength",
                )
            ),
        ),
    ),
    Description(
        name="skillcraft",
        title="SkillCraft1 master table",
        task="League (1 to 8) of 3395 StarCraft II players, from how they play; some cells are missing.",
        target=("LeagueIndex",),
        dropped=("GameID",),
        licence=_UCI_LICENCE,
        citation=(
            "J. Thompson, M. Blair, L. Chen and A. Henrey (2013), Video game telemetry as a critical tool in the study "
            "of complex skill learning, PLoS ONE 8(9). doi:10.24432/C5161N"
        ),
        page="https://archive.ics.uci.edu/dataset/272",
        files=(File("paper/skillcraft.csv.gz", "9750b110dbbb0ace1a97bb4dbcdb437e8c36c05bca41d417d2997a36adae301b"),),
        origins=_uci(272, "skillcraft1+master+table+dataset.zip", from_zip("SkillCraft1_Dataset.csv", from_csv())),
    ),
    Description(
        name="abalone",
        title="Abalone",
        task="Number of shell rings (a proxy for age) of 4177 abalone, from physical measurements.",
        target=("Rings",),
        categorical=("Sex",),
        licence=_UCI_LICENCE,
        citation=(
            "W. Nash, T. Sellers, S. Talbot, A. Cawthorn and W. Ford (1994), The population biology of abalone in "
            "Tasmania, Sea Fisheries Division Technical Report 48. doi:10.24432/C55C7W"
        ),
        page="https://archive.ics.uci.edu/dataset/1",
        files=(File("paper/abalone.csv.gz", "2f912d82734a81083f042b1c2ddaa935ef8013431debac912f40995bb6398510"),),
        origins=_uci(
            1,
            "abalone.zip",
            from_zip(
                "abalone.data",
                from_csv(
                    header=False,
                    names=("Sex", "Length", "Diameter", "Height", "Whole", "Shucked", "Viscera", "Shell", "Rings"),
                ),
            ),
        ),
    ),
    Description(
        name="wine",
        title="Wine quality",
        task="Quality score (0 to 10) of 6497 red and white wines, from chemical measurements and colour.",
        target=("quality",),
        categorical=("colour",),
        licence=_UCI_LICENCE,
        citation=(
            "P. Cortez, A. Cerdeira, F. Almeida, T. Matos and J. Reis (2009), Modeling wine preferences by data mining "
            "from physicochemical properties, Decision Support Systems 47(4). doi:10.24432/C56S3T"
        ),
        page="https://archive.ics.uci.edu/dataset/186",
        files=(
            File(
                "paper/wine_red.csv.gz",
                "d9b8ac96c5ae9ffcad1169e0752f7dd5fc70bff983695e1bc49b3547955a6995",
                {"colour": "red"},
            ),
            File(
                "paper/wine_white.csv.gz",
                "6495f6e703861ab026beb3de039de733fb74bf5b6bf9a79153ca9f4f6b4ea90f",
                {"colour": "white"},
            ),
        ),
        origins=_uci(
            186,
            "wine+quality.zip",
            from_zip("winequality-red.csv", from_csv(separator=";")),
            from_zip("winequality-white.csv", from_csv(separator=";")),
        ),
    ),
    Description(
        name="parkinsons",
        title="Parkinsons telemonitoring",
        task="Motor and total UPDRS scores (disease severity) of 42 patients, from 5875 voice recordings.",
        target=("motor_UPDRS", "total_UPDRS"),
        dropped=("subject#",),
        groups="subject#",
        licence=_UCI_LICENCE,
        citation=(
            "A. Tsanas, M. Little, P. McSharry and L. Ramig (2010), Accurate telemonitoring of Parkinson's disease "
            "progression by noninvasive speech tests, IEEE Transactions on Biomedical Engineering 57(4). "
            "doi:10.24432/C5ZS3N"
        ),
        page="https://archive.ics.uci.edu/dataset/189",
        files=(File("paper/parkinsons.csv.gz", "e46027a995c56e0407419408aae320c1efe70e07143f1b888a2d305fdfb1a924"),),
        origins=_uci(189, "parkinsons+telemonitoring.zip", from_zip("parkinsons_updrs.data", from_csv())),
    ),
    Description(
        name="ccpp",
        title="Combined cycle power plant",
        task="Electrical output in MW of a power plant at full load over 9568 hours, from weather and vacuum.",
        target=("PE",),
        licence=_UCI_LICENCE,
        citation=(
            "P. Tüfekci (2014), Prediction of full load electrical power output of a base load operated combined cycle "
            "power plant using machine learning methods, International Journal of Electrical Power and Energy Systems "
            "60. doi:10.24432/C5002N"
        ),
        page="https://archive.ics.uci.edu/dataset/294",
        files=(File("paper/ccpp.csv.gz", "ee010909b1ca082bb88b03eecac8fe0de62c0879c90f40c99dfa08e3f1cf4ba6"),),
        # in the row order of the first of the workbook's five sheets
        origins=_uci(294, "data.csv", from_csv()),
    ),
    Description(
        name="bike",
        title="Bike sharing",
        task="Bike rentals by casual and registered users in 17379 hours, from calendar and weather.",
        target=("casual", "registered"),
        categorical=("season", "holiday", "weekday", "workingday", "weathersit"),
        dropped=("instant", "dteday", "cnt"),
        licence=_UCI_LICENCE,
        citation=(
            "H. Fanaee-T and J. Gama (2014), Event labeling combining ensemble detectors and background knowledge, "
            "Progress in Artificial Intelligence 2. doi:10.24432/C5W894"
        ),
        page="https://archive.ics.uci.edu/dataset/275",
        files=(File("paper/bike.csv.gz", "495a4f17221a08c3737a4bb9f763cfacc938a9ed5ca2567b3b80e474232d8dde"),),
        origins=_uci(275, "bike+sharing+dataset.zip", from_zip("hour.csv", from_csv())),
    ),
    Description(
        name="protein",
        title="Physicochemical properties of protein tertiary structure",
        task="Error (RMSD) of 45730 predicted protein structures, from their surface and shape.",
        target=("RMSD",),
        licence=_UCI_LICENCE,
        citation=(
            "P. Rana (2013), Physicochemical properties of protein tertiary structure, UCI Machine Learning "
            "Repository. doi:10.24432/C5QW3H"
        ),
        page="https://archive.ics.uci.edu/dataset/265",
        files=(File("paper/protein.csv.gz", "e9bc403bce5e2fa1c7091ce57985d57e40a08e22d5dfa831e17be1b25678a1bc"),),
        origins=_uci(
            265,
            "physicochemical+properties+of+protein+tertiary+structure.zip",
            from_zip("CASP.csv", from_csv()),
        ),
    ),
    Description(
        name="oulad",
        title="Open University learning analytics",
        task=(
            "Score (0 to 100) of students in one assessment, from their scores in the other assessments of its "
            "module, most of which are missing."
        ),
        target=("CMA 24295",),
        groups="id_student",
        licence="CC BY 4.0",
        citation=(
            "J. Kuzilek, M. Hlosta and Z. Zdrahal (2017), Open University learning analytics dataset, "
            "Scientific Data 4, 170171. doi:10.1038/sdata.2017.171"
        ),
        page="https://archive.ics.uci.edu/dataset/349",
        files=(
            File("grades/oulad_assessments.csv.gz", "802da4d6072be400fb74a05266c5ec6bd66afac923f328d1286873c7cfc09cd4"),
            File(
                "grades/oulad_student_assessment.csv.gz",
                "9c60a9e5bc56e65e9802731ae43937727cc280720de9969a8febdaa6d96d9e16",
            ),
        ),
        origins=_uci(
            349,
            "open+university+learning+analytics+dataset.zip",
            from_zip("assessments.csv", from_csv()),
            from_zip("studentAssessment.csv", from_csv()),
        ),
    ),
    Description(
        name="college_grades",
        title="Grades at a small college",
        task="Grade point (0 to 4) of 443 students in their courses, from student, course and instructor.",
        target=("gradepoint",),
        categorical=("sid", "dept", "sem", "iid"),
        dropped=("grade", "sessionID"),
        groups="sid",
        licence="MIT",
        citation="D. Kaplan and R. Pruim (2017), College_grades, in the R package mosaicModel 0.3.1",
        page="https://github.com/ProjectMOSAIC/mosaicModel",
        files=(
            File("grades/college_grades.csv.gz", "6ef4d7ef4174bb08b54b146cdf53689a026fa65b2b03ffa16380570c8167fb82"),
        ),
        origins=(
            Origin(
                "https://raw.githubusercontent.com/ProjectMOSAIC/mosaicModel/"
                "0c7afbde1bd6e6ea6387fb86ef1d6bc8be62bc5d/data/College_grades.rda",
                "College_grades.rda",
                (from_rda,),
            ),
        ),
    ),
    Description(
        name="cascaded_tanks",
        title="Cascaded tanks with overflow",
        task="Next water level in the lower of two tanks, from the pump voltage and past levels; sampled every 4 s.",
        target=("y(t)",),
        groups="record",
        lags=4,
        licence="CC BY-SA 4.0",
        citation=(
            "M. Schoukens, P. Mattsson, T. Wigren and J.-P. Noël (2020), Cascaded tanks benchmark combining soft and "
            "hard nonlinearities, 4TU.ResearchData. doi:10.4121/12960104"
        ),
        page="https://www.nonlinearbenchmark.org/benchmarks/cascaded-tanks",
        files=(
            File("sysid/cascaded_tanks.csv.gz", "7f016084d0bca98c85bdc2f5958a707eedc5b26a052d7335e5b6bd587ad6eb80"),
        ),
        origins=(
            Origin(
                "https://data.4tu.nl/file/d4810b78-6cdd-48fe-8950-9bd601e5f47f/3b697e42-01a4-4979-a370-813a456c36f5",
                "CascadedTanksFiles.zip",
                (from_zip("dataBenchmark.csv", from_csv(names=("uEst", "uVal", "yEst", "yVal"))),),
            ),
        ),
    ),
    Description(
        name="silverbox",
        title="Silverbox, an electronic Duffing oscillator",
        task="Next output voltage, from the input and past outputs; sampled at 610.35 Hz.",
        target=("y(t)",),
        groups="record",
        lags=4,
        licence="free with citation",
        citation=(
            "T. Wigren and J. Schoukens (2013), Three free data sets for development and benchmarking in nonlinear "
            "system identification, European Control Conference, 2933-2938. doi:10.23919/ECC.2013.6669201"
        ),
        page="https://www.nonlinearbenchmark.org/benchmarks/silverbox",
        files=(File("sysid/silverbox.csv.gz", "27a6b963c75752493bcf76d9d8789424771689afc9a9f3a3f07fb3fe20d48852"),),
        origins=(
            Origin(
                "https://drive.google.com/uc?export=download&id=17iS-6oBUUgrmiAcrZoG9S5sOaljZnDSy",
                "SilverboxFiles.zip",
                (from_zip("SNLS80mV.mat", from_mat(("V1", "V2"))),),
            ),
            Origin(
                "https://raw.githubusercontent.com/biaslab/nsi-silverbox/"
                "728f07e4539d4f7da76a4778b52a756260b488ac/data/Silverbox/SNLS80mV.mat",
                "SNLS80mV.mat",
                (from_mat(("V1", "V2")),),
            ),
        ),
    ),
)

CATALOGUE = {description.name: description for description in _SETS}
